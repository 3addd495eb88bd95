"""What stands between a model and a run: faults sorted by what they are about, each with its remedy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypedDict

from tilesim.errors import ModelError
from tilesim.network.graph import Network
from tilesim.network.readers.fault import ModelFault

About: TypeAlias = Literal["operator", "type", "shape", "form", "chip"]

GUIDE = "`tilesim guide quantise`"
INTEGERS = f"quantise weights and activations to int8 ({GUIDE})"
REMEDIES: Mapping[str, str] = {
    "operator": "make the model without it, or cut it off and compute it at the host (`tilesim guide operators` "
    "lists what is read)",
    "custom": "make the model of built-in operators alone, or cut it off and compute it at the host",
    "dynamic": f"quantise activations beforehand, too, with samples of them ({GUIDE})",
    "type": f"int8 or uint8 is what chips compute with: {INTEGERS}",
    "shape": f"give every axis but the first a fixed size when the model is exported ({GUIDE})",
    "form": "export it in the form that the sentence asks for",
    "chip": "another chip, or other sizes of its memories; `tilesim topologies NAME` lists all keys",
}
TYPES: Mapping[str, str] = {
    **dict.fromkeys(("float32", "float16", "float64", "bfloat16"), INTEGERS),
    "hybrid": f"quantise activations, too: only the weights are ({GUIDE})",
    "int16": f"convert it with activations of int8, not of int16 ({GUIDE})",
    "int4": f"convert it with weights of int8, not of int4 ({GUIDE})",
}
DYNAMIC = frozenset({"DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "MatMulIntegerToFloat"})
"""Operators that quantise values as they come."""


class Obstacle(TypedDict):
    """Faults of one sort."""

    about: About
    """Which sort it is of."""
    what: str
    """The kind of an operator, a type of numbers, or the chip."""
    count: int
    """How many nodes or tensors it is about."""
    names: list[str]
    """What these are called."""
    sentences: list[str]
    """All faults, in full."""
    remedy: str
    """What would help."""


class ModelSupport(TypedDict):
    """What became of a model."""

    model: str
    """A path, or a workload's name."""
    verdict: str
    """``is read``, ``runs``, ``does not fit``, ``is not read``, or ``no model``."""
    layers: int | None
    """How many layers it has; None if it is not read."""
    macs: int | None
    """Multiply-accumulates of an inference."""
    parameter_bytes: int | None
    """Bytes of all parameters."""
    obstacles: list[Obstacle]
    """What stands in the way."""
    notes: list[str]
    """What its reader has to say of it, such as which operators were cut off; and which layers the host computes."""
    faults: list[str]
    """Why the file is no model."""


class SupportDocument(TypedDict):
    """What ``tilesim support`` prints."""

    schema: str
    """``tilesim.support/1``."""
    topology: str | None
    """Name of the chip, if one is asked about."""
    models: list[ModelSupport]
    """The models, in the order of the command line."""


@dataclass(frozen=True)
class Support:
    """What became of a model: its network, if it could be read; whether that compiles, if a chip was named; all that
    stands in the way; and what the host computes then (``at_host``), if it does.
    """

    network: Network | None = field(repr=False)
    compiles: bool | None
    obstacles: tuple[Obstacle, ...]
    at_host: str = ""

    @property
    def verdict(self) -> str:
        if self.network is None:
            return "is not read"
        return {None: "is read", True: "runs", False: "does not fit"}[self.compiles]

    def document(self, model: str) -> ModelSupport:
        """As plain values, of the ``model`` of that name."""
        network = self.network
        return {
            "model": model,
            "verdict": self.verdict,
            "layers": len(network.nodes) if network else None,
            "macs": network.macs if network else None,
            "parameter_bytes": network.parameter_bytes if network else None,
            "obstacles": list(self.obstacles),
            "notes": [*(network.notes if network else ()), *([self.at_host] if self.at_host else [])],
            "faults": [],
        }


def is_no_model(error: ModelError) -> bool:
    """Whether the file is no model at all."""
    return any(ModelFault.of(fault).about == "file" for fault in error.faults)


def obstacles_of(error: ModelError) -> tuple[Obstacle, ...]:
    """The faults of a model, sorted: operators first, then numbers, sizes and forms, the most frequent first."""
    groups: dict[Hashable, list[ModelFault]] = {}
    for fault in map(ModelFault.of, error.faults):
        groups.setdefault((fault.about, _what(fault)), []).append(fault)
    obstacles = [_obstacle(faults) for faults in groups.values()]
    order = ("operator", "type", "shape", "form")
    return tuple(sorted(obstacles, key=lambda obstacle: (order.index(obstacle["about"]), -obstacle["count"])))


def of_chip(chip: str, sentences: Iterable[str]) -> Obstacle:
    """What a compiler says of a network that does not fit."""
    said = list(sentences)
    return Obstacle(about="chip", what=chip, count=len(said), names=[], sentences=said, remedy=REMEDIES["chip"])


def _what(fault: ModelFault) -> str:
    if fault.about == "shape":
        return "dynamic shape"
    return fault.actual or fault.operator or "model"


def _obstacle(faults: list[ModelFault]) -> Obstacle:
    first = faults[0]
    assert first.about != "file"
    return {
        "about": first.about,
        "what": _what(first),
        "count": len(faults),
        "names": list(dict.fromkeys(fault.name for fault in faults if fault.name)),
        "sentences": [fault.inside for fault in faults],
        "remedy": _remedy(first),
    }


def _remedy(fault: ModelFault) -> str:
    if fault.about == "type":
        return TYPES.get(fault.actual, REMEDIES["type"])
    if fault.about == "operator":
        key = "custom" if fault.actual.startswith("custom ") else "dynamic" if fault.actual in DYNAMIC else "operator"
        return REMEDIES[key]
    return REMEDIES[fault.about]

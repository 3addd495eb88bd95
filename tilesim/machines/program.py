"""What programs of all machines have in common: instructions for one chip, and how the host lays out its tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.topology import Topology
from tilesim.network.graph import titled
from tilesim.printable import html_table, printable

P = TypeVar("P", bound="Program")
T = TypeVar("T")

NO_NUMBERS: tuple[int, ...] = ()
MOST_NAMED = 5
"""Layers that a note names."""


class Instruction(Protocol):
    """One step of a unit, a dataclass. Statistics and traces call it by its ``label``, and add it to the ``layer`` of
    that number.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def mnemonic(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def layer(self) -> int: ...


@dataclass(frozen=True)
class DataSegment:
    """Bytes that are there before the program starts: parameters."""

    name: str
    data: NDArray[np.uint8]


@dataclass(frozen=True)
class HostTensor:
    """How the host presents one model input, or takes one model output; ``index`` is the model's.

    ``dtype``, ``shape`` and ``axes`` are the model's (model axis k is canonical axis ``axes[k]``, channels last); on
    its way each value is an ``element``. A float tensor is quantised by the host on its way in (``rounding`` half to
    ``even`` or ``away`` from zero), dequantised on its way out: ``real = scale * (q - zero_point)`` in float32,
    ``scale`` 0 for integers. ``lookup``: before that each byte of an output is replaced by the entry that it counts.
    """

    name: str
    index: int
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    element: str

    # No fields yet: each machine has them among its own, in an order that its files keep.
    scale = 0.0
    zero_point = 0
    rounding = "even"
    function = ""
    scaling = NO_NUMBERS
    lookup = NO_NUMBERS

    @property
    def carried(self) -> np.dtype[Any]:
        """What an element is on its way."""
        return np.dtype(self.element)


@dataclass(frozen=True)
class Layer:
    """A layer of the network, for statistics: instructions name it by its place in the program's list."""

    name: str
    kind: str
    macs: int


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """Everything that one chip needs for one network, or for several that take turns, as :func:`tilesim.compile` and
    :func:`tilesim.load_program` make it.
    """

    name: str
    """Name of the network."""
    topology: Topology
    """The chip."""
    load: tuple[Instruction, ...]
    """Instructions that put the parameters where ``run`` expects them."""
    run: tuple[Instruction, ...]
    """Instructions of one inference, or of as many as the program is for."""
    data: tuple[DataSegment, ...] = ()
    """Parameters."""
    inputs: tuple[HostTensor, ...] = ()
    """The model's inputs, those of the first inference first: name, dtype and shape of the arrays that it takes."""
    outputs: tuple[HostTensor, ...] = ()
    """The model's outputs, likewise."""
    layers: tuple[Layer, ...] = ()
    """The layers that instructions belong to."""

    def __repr__(self) -> str:
        return f"<Program {self._summary}>"

    def _repr_html_(self) -> str:
        """What it takes and gives, and how often it has each instruction, for a notebook."""
        ends = [("input", end) for end in self.inputs] + [("output", end) for end in self.outputs]
        rows: list[tuple[object, ...]] = [
            (what, end.name, f"{end.dtype}, {' x '.join(map(str, end.shape))}", "") for what, end in ends
        ]
        load, run = (Counter(op.mnemonic for op in section) for section in (self.load, self.run))
        rows += [("instruction", mnemonic, load[mnemonic], run[mnemonic]) for mnemonic in sorted(load | run)]
        return html_table(self._summary, ("", "", "in load", "in run"), rows)

    @property
    def _summary(self) -> str:
        where = f"{printable(self.name)} on {printable(self.topology.name)}"
        return f"{where}: {len(self.layers)} layers, {len(self.load):,} + {len(self.run):,} instructions"

    @property
    def inferences(self) -> int:
        """Of how many inferences the inputs are, those of the first one first."""
        return 1

    @property
    def at_host(self) -> Sequence[int]:
        """The layers that the host computes itself, as the chip has no unit for them, by number."""
        return ()

    @property
    def inputs_of_inference(self) -> Sequence[HostTensor]:
        """What one inference takes."""
        return self.inputs[: len(self.inputs) // self.inferences]

    def once(self: P, finding: Callable[[P], T]) -> T:
        """What ``finding`` says of this program, worked out the first time only, for a program never changes.

        It belongs to this very object: what is made from it by ``replace``, copied, or read from a file is asked anew.
        """
        if finding not in self._known:
            self._known[finding] = finding(self)
        known: T = self._known[finding]
        return known

    def retargeted(self: P, topology: Topology) -> P:
        """The same program for a chip that differs from its own in keys only on which no program of its machine
        depends (:attr:`~tilesim.machines.machine.Machine.run_time_keys`): what was worked out once holds there too.
        """
        program = replace(self, topology=topology)
        vars(program)["_known"] = dict(self._known)
        return program

    def annotated(self: P, **words: Any) -> P:
        """The same program with other words about it, which no rule asks for: it is sound if this one is."""
        program = replace(self, **words)
        if self.is_known_sound:
            program.know_sound()
        return program

    @property
    def is_known_sound(self) -> bool:
        """Whether it has been proven, here or by whoever sealed its file, that nothing is wrong with it: as what is
        found out once, that is of this very object.
        """
        return self.once(_nothing_known)

    def know_sound(self) -> None:
        """Remember that it has been."""
        self._known[_nothing_known] = True

    @cached_property
    def _known(self) -> dict[Callable[..., Any], Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _nothing_known(_: Program) -> bool:
    return False


def host_note(program: Program) -> str:
    """Which layers the host computes itself; empty if there are none."""
    layers = [(k, program.layers[k]) for k in sorted(program.at_host)]
    if not layers:
        return ""
    names = [f"{k} {printable(titled(layer.name))} ({layer.kind})" for k, layer in layers]
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else "")
    what = "a layer" if len(names) == 1 else f"{len(names)} layers"
    return f"the host computes {what} for which {printable(program.topology.name)} has no unit: {shown}"


def where(section: str, place: int, instruction: Instruction) -> str:
    """How a sentence names an instruction of ``section`` (``load`` or ``run``)."""
    return f"{instruction.label or f'{section}[{place}]'} {instruction.mnemonic}"


def covered_bytes(stretches: Iterable[tuple[int, int]]) -> int:
    """How many bytes lie in any of the ``stretches`` of a memory, from the first byte of each up to its end."""
    covered = reached = 0
    for first, end in sorted(stretches):
        covered += max(0, end - max(first, reached))
        reached = max(reached, end)
    return covered

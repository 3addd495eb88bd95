"""Which option applies to what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from tilesim.cli.options.models import is_program
from tilesim.machines.machine import Machine, PlansBatches, PlansCache, Proves, Spreads
from tilesim.machines.topology import Topology
from tilesim.registry import able, can, machine_of


class Subject(StrEnum):
    """What a command line can be about, in the words of a sentence."""

    MODELS = "models that are compiled"
    ONE_MODEL = "one model"
    ONE_CHIP = "one chip"


Capability: TypeAlias = type[Machine[Any, Any]]

CACHED = ("--no-cache", "--priority", "--layer-priority", "--parameters-over")
BATCHED = ("--batch-schedule", "--weight-reuse", "--power-of-two", "--fit")
RUN = (
    "--inferences", "--trace", "--trace-window", "--trace-tracks", "--signals", "--rules", "--masters", "--energy",
    "--engine", "--out",
)  # fmt: skip

APPLIES: Mapping[str, tuple[Subject | Capability, ...]] = {
    **dict.fromkeys(CACHED, (Subject.MODELS, PlansCache)),
    "--partition": (Subject.MODELS, Spreads),
    "--loop-order": (Subject.MODELS, Spreads),
    "--no-bands": (Subject.MODELS, Spreads),
    **dict.fromkeys(BATCHED, (Subject.MODELS, PlansBatches)),
    "--inputs": (Subject.ONE_MODEL,),
    **dict.fromkeys(RUN, ()),
    "--ring-trace": (Subject.ONE_CHIP, Proves),
    **dict.fromkeys(("--hold", "--instant"), (Subject.ONE_CHIP,)),  # an instruction is one of a program, for one chip
}
"""All that is listed must be so, and the chip's machine able; an option that is not here applies to everything."""


def misapplied(
    options: Iterable[str], words: Sequence[str], topologies: Sequence[str], chips: Sequence[Topology]
) -> Iterator[str]:
    """A sentence for each of the ``options`` that applies to something else than what a command line names: ``words``
    for models or programs, and ``topologies``; or that means nothing to the ``chips``.
    """
    instead = {
        Subject.MODELS: f"{words[0]}, a program" if all(map(is_program, words)) else "",
        Subject.ONE_MODEL: " and ".join(words) if len(words) > 1 else "",
        Subject.ONE_CHIP: f"{' and '.join(topologies)}, which are compared" if len(topologies) > 1 else "",
    }
    for option in options:
        subjects = [subject for subject in APPLIES.get(option, ()) if isinstance(subject, Subject) and instead[subject]]
        yield from (f"{option} applies to {subject}, not to {instead[subject]}" for subject in subjects)
        if not subjects:
            yield from (fault for chip in chips for fault in _inapplicable(option, chip))


def _inapplicable(option: str, chip: Topology) -> Iterator[str]:
    """Why an option means nothing to a chip, if it does not."""
    capabilities = [capability for capability in APPLIES.get(option, ()) if not isinstance(capability, Subject)]
    for capability in capabilities:
        if not can(chip, capability):
            yield f"{option} applies to chips that can {able(capability)}, not to {chip.name}"
    if not capabilities and (reason := machine_of(chip).refuses.get(option.removeprefix("--"))):
        yield f"{chip.name}: {option} must be left out: {reason}"

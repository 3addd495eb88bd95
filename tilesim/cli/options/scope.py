"""Which option applies to what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from tilesim.cli.options.models import is_program
from tilesim.machines.machine import PlansBatches, PlansCache, Spreads
from tilesim.machines.topology import Topology
from tilesim.registry import able, can


class Scope(StrEnum):
    """What a command line can be about, in the words of a sentence."""

    MODELS = "models that are compiled"
    ONE_MODEL = "one model"
    ONE_CHIP = "one chip"


Capability = type[PlansBatches[Any, Any]] | type[PlansCache[Any, Any]] | type[Spreads[Any, Any]]

APPLIES: Mapping[str, tuple[Scope | Capability, ...]] = {
    "--no-cache": (Scope.MODELS, Scope.ONE_CHIP, PlansCache),
    "--priority": (Scope.MODELS, Scope.ONE_CHIP, PlansCache),
    "--layer-priority": (Scope.MODELS, Scope.ONE_CHIP, PlansCache),
    "--partition": (Scope.MODELS, Spreads),
    "--batch-schedule": (Scope.MODELS, Scope.ONE_CHIP, PlansBatches),
    "--weight-reuse": (Scope.MODELS, Scope.ONE_CHIP, PlansBatches),
    "--power-of-two": (Scope.MODELS, Scope.ONE_CHIP, PlansBatches),
    "--fit": (Scope.MODELS, Scope.ONE_CHIP, PlansBatches),
    "--inputs": (Scope.ONE_MODEL,),
    "--inferences": (Scope.ONE_CHIP,),
    "--trace": (Scope.ONE_CHIP,),
    "--trace-window": (Scope.ONE_CHIP,),
    "--trace-tracks": (Scope.ONE_CHIP,),
    "--rules": (Scope.ONE_CHIP,),
    "--masters": (Scope.ONE_CHIP,),
    "--hold": (Scope.ONE_CHIP,),
    "--energy": (Scope.ONE_CHIP,),
    "--out": (Scope.ONE_CHIP,),
}
"""All that is listed must be so, and the chip's machine able; an option that is not here applies to everything."""


def misapplied(options: Iterable[str], words: Sequence[str], topologies: Sequence[str]) -> Iterator[str]:
    """A sentence for each of the ``options`` that applies to something else than what a command line names: ``words``
    for models or programs, and ``topologies``.
    """
    instead = {
        Scope.MODELS: f"{words[0]}, a program" if all(map(is_program, words)) else "",
        Scope.ONE_MODEL: " and ".join(words) if len(words) > 1 else "",
        Scope.ONE_CHIP: f"the {len(topologies)} that are compared" if len(topologies) > 1 else "",
    }
    for option in options:
        for scope in APPLIES.get(option, ()):
            if isinstance(scope, Scope) and instead[scope]:
                yield f"{option} applies to {scope}, not to {instead[scope]}"


def inapplicable(options: Iterable[str], chip: Topology) -> Iterator[str]:
    """A sentence for each of the ``options`` that means nothing to a chip."""
    for option in options:
        for capability in APPLIES.get(option, ()):
            if not isinstance(capability, Scope) and not can(chip, capability):
                yield f"{option} applies to chips that can {able(capability)}, not to {chip.name}"

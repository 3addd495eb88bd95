"""The options that put inferences together into batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import typer

from tilesim import api
from tilesim.batching import SCHEDULES, Plan, Schedule
from tilesim.errors import CapacityError, InputError
from tilesim.machines.machine import PlansBatches
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.printable import unknown
from tilesim.registry import can, refusal

MOST_REUSE = 10**6

BatchScheduleOption = Annotated[
    str,
    typer.Option(
        "--batch-schedule",
        metavar="|".join(SCHEDULES),
        help="Of several inferences on a systolic machine: one after the other; each layer as much as the next one "
        "asks for; or each the least common multiple of all batches. If not given, whichever is fastest.",
    ),
]
WeightReuseOption = Annotated[
    str,
    typer.Option(
        "--weight-reuse",
        metavar="V",
        help="How often a weight is to be used; if not given, as often as the chip's weight memory asks for.",
    ),
]
PowerOfTwoOption = Annotated[bool, typer.Option("--power-of-two", help="Round batches up to powers of two.")]
FitOption = Annotated[
    bool, typer.Option("--fit", help="Make batches smaller until the unified buffer holds what waits in it.")
]


@dataclass(frozen=True)
class Batches:
    """What the command line says about batches of so many inferences."""

    inferences: int = 1
    schedule: str = ""
    weight_reuse: str = ""
    power_of_two: bool = False
    fit: bool = False

    @property
    def given(self) -> list[str]:
        """The options that are there."""
        options = {
            "--batch-schedule": self.schedule,
            "--weight-reuse": self.weight_reuse,
            "--power-of-two": self.power_of_two,
            "--fit": self.fit,
        }
        return [option for option, there in options.items() if there]

    def faults(self, chip: Topology) -> Iterator[str]:
        """What makes no sense together, or on ``chip``."""
        if not can(chip, PlansBatches):
            yield from (f"{option}: {fault}" for option in self.given for fault in refusal(chip, PlansBatches).faults)
        elif self.schedule and self.schedule not in SCHEDULES:
            yield f"--batch-schedule {unknown(self.schedule, SCHEDULES, 'a schedule')}"

    def plan(self, network: Network, chip: Topology, say: Callable[[str], None]) -> Plan | None:
        """The plan; None if there is nothing to plan. ``say`` is told what is being tried.

        Raises:
            InputError: words that make no sense; a plan that does not fit.
        """
        if faults := list(self.faults(chip)):
            raise InputError(faults)
        if not can(chip, PlansBatches) or (self.inferences == 1 and not self.given):
            return None
        value = weight_reuse(self.weight_reuse)
        try:
            return api.plan_batches(
                network, chip, self.inferences, self._schedule, value, self.power_of_two, self.fit, say
            )
        except CapacityError as error:
            raise advised(error, self.fit or self._schedule in {"none", "fastest"}) from None

    @property
    def _schedule(self) -> Schedule | Literal["fastest"]:
        """That of one inference is always the same."""
        given: Schedule | None = next((each for each in SCHEDULES if each == self.schedule), None)
        return given or ("none" if self.inferences == 1 else "fastest")


def advised(error: CapacityError, nothing_helps: bool) -> CapacityError:
    """The error, with the option that may help."""
    if nothing_helps:
        return error
    return CapacityError(f"{fault}; --fit makes batches smaller" for fault in error.faults)


def weight_reuse(words: str) -> Fraction | None:
    """A number of uses, or nothing.

    Raises:
        InputError: words that are no such number.
    """
    if not words:
        return None
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12})?", words):  # an exponent could ask for a number without end
        raise InputError(f"--weight-reuse: must be a number such as 1500, not {words!r}")
    if not 0 < (value := Fraction(words)) <= MOST_REUSE:
        raise InputError(f"--weight-reuse: must be above 0 and at most {MOST_REUSE:,}, not {words}")
    return value

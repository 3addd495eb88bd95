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
from tilesim.cli.faults import faults_of
from tilesim.cli.options.groups import Options, given, word_option
from tilesim.errors import CapacityError, InputError
from tilesim.machines.machine import PlansBatches
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.printable import shown, unknown
from tilesim.registry import can

MOST_REUSE = 10**6
USES = f"a number such as 1500, above 0 and at most {MOST_REUSE:,}"


@dataclass(frozen=True)
class BatchSizeOptions(Options):
    """How many inferences each layer takes at once."""

    weight_reuse: Annotated[
        str,
        word_option(
            "V", "How often a weight is to be used; if not given, as often as the chip's weight memory asks for."
        ),
    ] = ""
    power_of_two: Annotated[bool, typer.Option("--power-of-two", help="Round batches up to powers of two.")] = False
    fit: Annotated[
        bool, typer.Option("--fit", help="Make batches smaller until the unified buffer holds what waits in it.")
    ] = False

    def faults(self) -> Iterator[str]:
        yield from faults_of(self.value)

    def value(self) -> Fraction | None:
        """How often a weight is to be used, if that is given."""
        words = self.weight_reuse
        if not words:
            return None
        # an exponent could ask for a number without end
        value = Fraction(words) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12})?", words) else Fraction(0)
        if not 0 < value <= MOST_REUSE:
            raise InputError(f"--weight-reuse must be {USES}, not {shown(words)}")
        return value


@dataclass(frozen=True)
class BatchOptions(BatchSizeOptions):
    """How inferences on a systolic machine are put together into batches, and in what order these run."""

    batch_schedule: Annotated[
        str,
        word_option(
            "|".join(SCHEDULES),
            "Of several inferences on a systolic machine: one after the other; each layer as much as the next one "
            "asks for; or each the least common multiple of all batches. If not given, whichever is fastest.",
        ),
    ] = ""

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.batch_schedule not in {"", *SCHEDULES}:
            yield f"--batch-schedule {unknown(self.batch_schedule, SCHEDULES, 'a schedule')}"

    def plan(self, network: Network, chip: Topology, inferences: int, say: Callable[[str], None]) -> Plan | None:
        """The plan; None if there is nothing to plan. ``say`` is told what is being tried."""
        if not can(chip, PlansBatches) or (inferences == 1 and not given(self)):
            return None
        schedule = self._schedule(inferences)
        try:
            return api.plan_batches(network, chip, inferences, schedule, self.value(), self.power_of_two, self.fit, say)
        except CapacityError as error:
            raise advised(error, self.fit or schedule in {"none", "fastest"}) from None

    def _schedule(self, inferences: int) -> Schedule | Literal["fastest"]:
        """That of one inference is always the same."""
        named: Schedule | None = next((schedule for schedule in SCHEDULES if schedule == self.batch_schedule), None)
        return named or ("none" if inferences == 1 else "fastest")


def advised(error: CapacityError, nothing_helps: bool) -> CapacityError:
    """The error, with the option that may help."""
    if nothing_helps:
        return error
    return CapacityError(f"{fault}; --fit makes batches smaller" for fault in error.faults)

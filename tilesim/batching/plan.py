"""A plan: which layer runs which inferences, step by step, and what that costs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, lcm
from typing import NamedTuple

from tilesim.batching.flow import moments
from tilesim.batching.graph import LayerGraph
from tilesim.batching.schedules import SCHEDULES, Schedule, ScheduleStep, fetches, in_groups, on_demand, together, whole
from tilesim.errors import CapacityError, refuse
from tilesim.units import format_bytes

MOST_INFERENCES = 4096
"""More than these are not planned one by one."""


class Room(NamedTuple):
    """What a plan has to respect: ``capacity_bytes`` of the buffer, which parameters leave for maps; and which layers
    run steps in a row ``at_once``, as their weights are too many to stay in the array.
    """

    capacity_bytes: int
    at_once: frozenset[int]


@dataclass(frozen=True)
class Plan:
    """The order in which layers take batches of inferences.

    ``batches`` are those of the graph's layers; ``group`` the inferences that go through a layer before the next one
    runs, 0 if as many as are asked for; ``buffer_bytes`` what lies in the buffer during each step; ``loads`` how often
    a layer's weights are fetched, which steps in a row of one layer share where they can, and ``weight_bytes`` their
    sum. ``fitted`` says what was made smaller so that the buffer holds it; ``predicted``, if the schedule was chosen,
    the cycles of those that it was chosen from.
    """

    schedule: Schedule
    weight_reuse: Fraction
    inferences: int
    batches: tuple[int, ...]
    group: int
    steps: tuple[ScheduleStep, ...]
    buffer_bytes: tuple[int, ...]
    loads: int
    weight_bytes: int
    fitted: str = ""
    predicted: tuple[tuple[Schedule, int], ...] = ()

    @property
    def peak_bytes(self) -> int:
        """The most that lies in the buffer."""
        return max(self.buffer_bytes)


def plan(
    graph: LayerGraph,
    value: Fraction | int,
    inferences: int,
    schedule: Schedule = "demand",
    power_of_two: bool = False,
    *,
    capacity_bytes: int | None = None,
    fit: bool = False,
    group: int | None = None,
    at_once: Collection[int] = (),
) -> Plan:
    """The steps in which a network's layers run a number of inferences.

    Args:
        graph: what waits for what.
        value: the weight reuse value: how often a weight must be used so that computing takes as long as the fetch of
            the weights that come next.
        inferences: how many there are in all.
        schedule: ``none``, inferences one by one; ``demand``, each layer as many batches as fill the next one's;
            ``lcm``, each layer the least common multiple of all batches before the next one runs.
        power_of_two: round batches up to powers of two.
        capacity_bytes: what the buffer holds, if it has an end.
        fit: make batches (of ``lcm`` the groups) smaller until the buffer holds what waits in it.
        group: of ``lcm`` the inferences that a layer runs before the next, instead of the least common multiple.
        at_once: layers of which the machine runs steps in a row as one, up to where all layers have run the same
            inferences, so that all of their operands and results are in the buffer together: those that would have
            to fetch their weights again for each step.

    Raises:
        InputError: a network without weights, a schedule that there is not, or numbers below 1.
        CapacityError: the buffer is too small, with ``fit`` even for the smallest batches.
    """
    _check(graph, value, inferences, schedule)
    batches = tuple(batch_size(value, layer.reuse, power_of_two) for layer in graph.layers)
    size = group or min(lcm(*batches), inferences)
    wanted = _Wanted(graph, Fraction(value), inferences, schedule, batches, size, frozenset(at_once))
    made = wanted.plan()
    if capacity_bytes is None or made.peak_bytes <= capacity_bytes:
        return made
    smaller = wanted.fitted(capacity_bytes, power_of_two) if fit else None
    if smaller is None:
        raise CapacityError(_lack(graph, made if not fit else wanted.limited(1), capacity_bytes, fit))
    return smaller


def batch_size(value: Fraction | int, reuse: int, power_of_two: bool = False) -> int:
    """Inferences that use each weight ``value`` times where one of them uses it ``reuse`` times; up to a power of two
    if so wanted.

    Source: JP 7561916 B2, on its Fig. 6.
    """
    batch = ceil(Fraction(value) / reuse)
    return 1 << (batch - 1).bit_length() if power_of_two else batch


def is_of(made: Plan, graph: LayerGraph) -> bool:
    """Whether each layer of ``graph``, and nothing else, runs all inferences of a plan, one after the other."""
    done = {layer.node: 0 for layer in graph.layers}
    for step in made.steps:
        if done.get(step.layer) != step.first:
            return False
        done[step.layer] += step.count
    return set(done.values()) == {made.inferences} and len(made.batches) == len(done)


@dataclass(frozen=True)
class _Wanted:
    """What a plan is to be; smaller ones come from it."""

    graph: LayerGraph
    value: Fraction
    inferences: int
    schedule: Schedule
    batches: tuple[int, ...]
    group: int
    at_once: frozenset[int]

    def plan(self) -> Plan:
        batches = (1,) * len(self.batches) if self.schedule == "none" else self.batches
        group = {"none": 1, "demand": 0, "lcm": self.group}[self.schedule]
        by_node = {layer.node: batch for layer, batch in zip(self.graph.layers, batches, strict=True)}
        steps = tuple(
            in_groups(self.graph, by_node, self.inferences, group)
            if group
            else on_demand(self.graph, by_node, self.inferences)
        )
        buffer_bytes = tuple(self._buffer_bytes(steps))
        loaded = [self.graph.nodes[layer].weight_bytes for layer in fetches(steps, self.at_once)]
        return Plan(
            self.schedule, self.value, self.inferences, batches, group, steps, buffer_bytes, len(loaded), sum(loaded)
        )

    def _buffer_bytes(self, steps: Sequence[ScheduleStep]) -> Iterator[int]:
        """What lies in the buffer during each step, those that run as one taken together."""
        runs = together(steps, self.at_once)
        for run, moment in zip(runs, moments(self.graph, map(whole, runs)), strict=True):
            yield from (moment.buffer_bytes for _ in run)

    def limited(self, most: int) -> Plan:
        """With groups, or where there are none batches, of at most so many inferences."""
        batches = tuple(min(batch, most) for batch in self.batches)
        return replace(self, batches=batches, group=min(self.group, most)).plan()

    def fitted(self, capacity_bytes: int, power_of_two: bool) -> Plan | None:
        """With the largest limit that a search by halves finds to fit, if there is one."""
        before = self.group if self.schedule == "lcm" else max(self.batches)
        limits = [1 << k for k in range(before.bit_length())] if power_of_two else range(1, before)
        # those that fit come first
        place = bisect_right(limits, False, key=lambda limit: self.limited(limit).peak_bytes > capacity_bytes)
        if not place:
            return None
        most = limits[place - 1]
        what = "groups" if self.schedule == "lcm" else "batches"
        return replace(self.limited(most), fitted=f"{what} of at most {most} inferences, not {before}")


def _check(graph: LayerGraph, value: Fraction | float, inferences: object, schedule: object) -> None:
    faults = [] if graph.layers else [f"{graph.name}: must have a layer with weights to form batches for"]
    if schedule not in SCHEDULES:
        faults.append(f"schedule must be one of {', '.join(SCHEDULES)}, not {schedule}")
    if not isinstance(value, (int, float, Fraction)) or not 0 < value < inf:
        faults.append(f"the weight reuse value must be a number above 0, not {value!r}")
    if not isinstance(inferences, int) or isinstance(inferences, bool) or not 1 <= inferences <= MOST_INFERENCES:
        faults.append(f"inferences must be a whole number from 1 to {MOST_INFERENCES:,}, not {inferences!r}")
    refuse(faults)


def _lack(graph: LayerGraph, plan: Plan, capacity_bytes: int, fit: bool) -> str:
    """Why the buffer doesn't hold a plan."""
    whose = "one inference" if fit or plan.schedule == "none" else f"schedule {plan.schedule}"
    return (
        f"{graph.name}: tensors of {whose} must fit the unified buffer: they take {format_bytes(plan.peak_bytes)} "
        f"({plan.peak_bytes:,} bytes) at once, and there are {format_bytes(capacity_bytes)} ({capacity_bytes:,} bytes)"
    )

"""Which parameters of one or several networks stay in the tiles, which stream in during the run, and where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import TypeVar

import numpy as np
from msgspec import Struct

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import DoesNotFit
from tilesim.machines.policies import CachePolicy
from tilesim.tiled.caching import Decision, ParameterSet, order_of, plan
from tilesim.tiled.compiler.feature_map import bitmap_of, padded
from tilesim.tiled.compiler.parameter_ways import over_mesh, ring_cycles
from tilesim.tiled.compiler.parameters import Bytes, ParameterSets, SetKey
from tilesim.tiled.compiler.stream_region import Uses, least_bytes, region_bytes, stream_buffers
from tilesim.tiled.compiler.wide_layout import DataRange, KeptRun, StreamBuffer, WideLayout
from tilesim.tiled.isa.model.program import Region
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

Of = TypeVar("Of")

REGION_STEPS = 8
"""Sizes of the region for what streams that are tried."""
SPLIT_RECEIVES = 3
"""Instructions with which a tile receives a set that has several home tiles: before its own run, behind it, and it."""


class Needs(Struct, frozen=True):
    """What a network wants of wide memory: parameter ``sets``, each of them in some rounds of tensorops (``uses``) and
    for so many cycles (``issue_cycles``), and rows for the tensors that cross the ring (bytes and tiles by name).
    ``roomy``: sets had better come long before they are used.
    """

    network: str
    topology: Topology
    sets: ParameterSets
    uses: Uses
    issue_cycles: Mapping[SetKey, int]
    staging: Mapping[str, tuple[int, int]]
    roomy: bool = False

    @property
    def free_bytes(self) -> int:
        """What reserve and staging leave. Source: US 2025/0265455 [0007] and [0019]."""
        wide = self.topology.wide_memory
        return wide.size_bytes - wide.reserve_bytes - sum(size for size, _ in self.staging.values())

    def described(self, number: int) -> list[ParameterSet]:
        """The sets as the planner sees them, equal ones once; the network is the one of this number."""
        sets, copies = self.sets, self.sets.copies
        return [
            ParameterSet(
                number,
                key.layer,
                key.chunk,
                key.title,
                sets.size_bytes(key),
                len(sets.alike(key)) > 1,
                sets.tiles_of_copies(key),
                sum(self.issue_cycles.get(copy, 0) for copy in copies(key)),
                reduce(or_, [tiles for copy in copies(key) if (tiles := sets.tiles(copy)).bit_count() == 1], 0),
            )
            for key in self.firsts
        ]

    @property
    def firsts(self) -> list[SetKey]:
        """The sets that are not equal to an earlier one."""
        return [key for key, first in self.sets.firsts.items() if key == first]

    def for_all(self, of_firsts: Mapping[SetKey, Of]) -> dict[SetKey, Of]:
        """What is known of sets, for those that are equal to them, too, and in their order."""
        return {key: known for first, known in of_firsts.items() for key in self.sets.copies(first)}


class JointResidency(Struct, frozen=True):
    """For each network: what becomes of its sets, and where those lie that stay, and runs of sets, from the first byte
    for such. ``end`` is how many bytes they take in the tile with most.
    """

    decisions: list[dict[SetKey, Decision]]
    stay: list[dict[SetKey, int]]
    runs: list[dict[SetKey, tuple[KeptRun, ...]]]
    end: int


def all_stay(needs: Sequence[Needs], policy: CachePolicy) -> list[WideLayout] | None:
    """Everything in every tile that needs it, or None if it doesn't fit or is not wanted."""
    free = min(need.free_bytes for need in needs)
    residency = _joint_residency(needs, policy, free)
    stays = all(decision.resident for own in residency.decisions for decision in own.values())
    fits = policy.cache and stays and residency.end <= free
    return _layouts(needs, policy, residency, [{}] * len(needs)) if fits else None


def some_stream(needs: Sequence[Needs], policy: CachePolicy) -> list[WideLayout]:
    """As much in the tiles as fits beside the region through which the rest streams."""
    ways = [_partly_resident(needs, policy, split=split) for split in (False, True)[: 1 + policy.cache]]
    residency = min(ways, key=partial(_moving_cycles, needs[0].topology))
    streaming = zip(needs, residency.decisions, strict=True)
    buffers = [_buffers(need, decisions, residency.end) for need, decisions in streaming]
    return _layouts(needs, policy, residency, buffers)


def _partly_resident(needs: Sequence[Needs], policy: CachePolicy, *, split: bool) -> JointResidency:
    """What stays, sets whole or also ``split`` over several home tiles."""
    residency = _beside(needs, policy, [_stream_bytes(need) for need in needs], split=split)
    return _roomy(needs, policy, residency, split=split) if needs[0].roomy else residency


def _moving_cycles(topology: Topology, residency: JointResidency) -> float:
    """About what all that moves in an inference takes, one after the other."""
    moving = (d for own in residency.decisions for d in own.values() if not d.resident)
    return sum(ring_cycles(decision, topology) for decision in moving)


def _beside(needs: Sequence[Needs], policy: CachePolicy, streaming: Sequence[int], *, split: bool) -> JointResidency:
    """What stays beside regions of so many bytes."""
    free = min(need.free_bytes - size for need, size in zip(needs, streaming, strict=True))
    budget = free if policy.cache else 0
    residency = _joint_residency(needs, policy, budget, split=split)
    while residency.end > free:
        budget -= residency.end - free  # places alike in all tiles leave gaps
        residency = _joint_residency(needs, policy, budget, split=split)
    return residency


def _roomy(needs: Sequence[Needs], policy: CachePolicy, narrow: JointResidency, *, split: bool) -> JointResidency:
    """What stays beside the largest regions, of up to three sets that follow each other, with which no more sets than
    beside ``narrow`` ones have to come from data memory, which is slow: so that sets can come in full while the one
    before is in use.
    """
    two, three = ([_stream_bytes(need, count) for need in needs] for count in (2, 3))
    for step in range(REGION_STEPS, 0, -1):
        between = [a + (b - a) * step // REGION_STEPS for a, b in zip(two, three, strict=True)]
        residency = _beside(needs, policy, between, split=split)
        if _homeless(residency) <= _homeless(narrow):
            return residency
    return narrow


def _homeless(residency: JointResidency) -> int:
    return sum(not decision.cached for own in residency.decisions for decision in own.values())


def _joint_residency(
    needs: Sequence[Needs], policy: CachePolicy, budget: int, *, split: bool = False
) -> JointResidency:
    sets = [parameters for number, own in enumerate(needs) for parameters in own.described(number)]
    order = order_of(sets, policy.network_priority, policy.layer_priority)
    row_bytes = needs[0].topology.wide_memory.row_bytes if split else 0
    planned = iter(plan(sets, [budget] * needs[0].topology.tiles, order, row_bytes))
    decisions = [{key: next(planned) for key in own.firsts} for own in needs]
    stay, runs, end = _residents(needs, decisions)
    return JointResidency(_for_all(needs, decisions), _for_all(needs, stay), _for_all(needs, runs), end)


def _for_all(needs: Sequence[Needs], of_firsts: Sequence[Mapping[SetKey, Of]]) -> list[dict[SetKey, Of]]:
    return [own.for_all(known) for own, known in zip(needs, of_firsts, strict=True)]


def _residents(
    needs: Sequence[Needs], decisions: list[dict[SetKey, Decision]]
) -> tuple[list[dict[SetKey, int]], list[dict[SetKey, tuple[KeptRun, ...]]], int]:
    """A place for each set that stays, the same in all tiles that keep it; what many tiles keep comes first, runs of
    sets last. A set begins in the row in which the one before it ends, if the same tiles load both, and with the same
    bytes.
    """
    row_bytes = needs[0].topology.wide_memory.row_bytes
    ends = [0] * needs[0].topology.tiles
    kept = [(number, key, d) for number, own in enumerate(decisions) for key, d in own.items() if d.holders]
    stay: list[dict[SetKey, int]] = [{} for _ in needs]
    loaded: object = None
    for number, key, decision in sorted(kept, key=lambda resident: -len(resident[2].holders)):
        sets, holders = needs[number].sets, decision.holders
        before, loaded = loaded, (number, sets.alike(key)) if decision.resident else None
        end = max(ends[tile] for tile in holders)
        place = stay[number][key] = sets.place(key, end) if loaded and loaded == before else padded(end, row_bytes)
        for tile in holders:
            ends[tile] = place + (sets.size_bytes(key) if loaded else sets.rows_bytes(key))
    ends = [padded(end, row_bytes) for end in ends]
    runs = [{key: _kept_runs(d, ends) for key, d in own.items() if d.runs} for own in decisions]
    return stay, runs, max(ends)


def _kept_runs(decision: Decision, ends: list[int]) -> tuple[KeptRun, ...]:
    """Behind what each tile has, whole rows all."""
    kept = []
    for run in decision.runs:
        kept.append(KeptRun(run, ends[run.tile]))
        ends[run.tile] += run.bytes
    return tuple(kept)


def _stream_bytes(needs: Needs, following: int = 2) -> int:
    if least_bytes(needs.sets, needs.uses) > needs.free_bytes:
        raise _too_large(needs, least_bytes(needs.sets, needs.uses))
    return region_bytes(needs.sets, needs.uses, needs.free_bytes, following)


def _buffers(needs: Needs, decisions: Mapping[SetKey, Decision], end: int) -> dict[SetKey, StreamBuffer]:
    """Places for what streams in all that reserve, what stays and staging rows leave."""
    wide = needs.topology.wide_memory
    region = range(wide.size_bytes - needs.free_bytes + end, wide.size_bytes)
    tiles = {key: needs.sets.tiles(key) & ~bitmap_of([*decision.holders]) for key, decision in decisions.items()}
    streaming = [key for key in decisions if tiles[key]]  # of a band's set all users may be holders of an equal one
    try:
        ahead = -(-needs.topology.instruction_bus.buffer_depth // 2)
        places = {key: SPLIT_RECEIVES for key in streaming if decisions[key].runs}
        return stream_buffers(needs.sets, needs.uses, streaming, region, wide.row_bytes, ahead, places)
    except DoesNotFit as error:
        raise _too_large(needs, error.item.size) from None


def _layouts(
    needs: Sequence[Needs],
    policy: CachePolicy,
    residency: JointResidency,
    streaming: list[dict[SetKey, StreamBuffer]],
) -> list[WideLayout]:
    networks = zip(needs, residency.decisions, residency.stay, residency.runs, streaming, strict=True)
    layouts = [_layout(*own, residency.end, policy) for own in networks]
    _check_data_memory(needs, sum(layout.data_bytes for layout in layouts))
    return layouts


def _check_data_memory(needs: Sequence[Needs], size: int) -> None:
    """The parameters of all networks lie in it, one after the other."""
    topology, whose = needs[0].topology, "its" if len(needs) == 1 else "their"
    if size > topology.data_memory.size_bytes:
        raise CapacityError(
            f"{', '.join(need.network for need in needs)}: {whose} parameters must fit the data memory of "
            f"{topology.name}: {format_bytes(size)} are needed, of {format_bytes(topology.data_memory.size_bytes)}"
        )


def _too_large(needs: Needs, size: int) -> CapacityError:
    wide = needs.topology.wide_memory
    if needs.free_bytes < 0:
        return CapacityError(
            f"{needs.network}: rows for the tensors that cross the ring must fit the wide memory of "
            f"{needs.topology.name}: {format_bytes(wide.size_bytes - needs.free_bytes)} are needed with the reserve, "
            f"of {format_bytes(wide.size_bytes)}"
        )
    key = max(needs.uses, key=needs.sets.rows_bytes)
    return CapacityError(
        f"{needs.network}: parameters of layer {key.title} must fit the wide memory of {needs.topology.name}: "
        f"{format_bytes(size)} are needed at once, {format_bytes(needs.free_bytes)} of "
        f"{format_bytes(wide.size_bytes)} are free"
    )


def _layout(
    needs: Needs,
    decisions: Mapping[SetKey, Decision],
    stay: Mapping[SetKey, int],
    runs: Mapping[SetKey, tuple[KeptRun, ...]],
    streaming: Mapping[SetKey, StreamBuffer],
    end: int,
    policy: CachePolicy,
) -> WideLayout:
    """From the bottom: the reserve, what stays, staging rows, and all the rest for what streams."""
    wide = needs.topology.wide_memory
    first = wide.reserve_bytes
    staging, address = {}, first + end
    for name, (size, tiles) in needs.staging.items():
        staging[name] = Region("staging", "wide", tiles, address, size)
        address += size
    return WideLayout(
        topology=needs.topology,
        sets=needs.sets,
        decisions=decisions,
        staging=staging,
        stay={key: first + place for key, place in stay.items()},
        buffers=streaming,
        stream=range(address, wide.size_bytes),
        sources=needs.for_all(_sources(needs, stay, _firsts(needs, [*stay, *runs, *streaming]))),
        over_mesh=over_mesh(needs.topology, policy, decisions, streaming, needs.uses, needs.issue_cycles),
        runs={key: tuple(KeptRun(k.run, first + k.address) for k in kept) for key, kept in runs.items()},
    )


def _firsts(needs: Needs, keys: Iterable[SetKey]) -> Iterator[SetKey]:
    """The first of the sets that are equal to each of some."""
    return (needs.sets.firsts[key] for key in keys)


def _sources(needs: Needs, stay: Mapping[SetKey, int], keys: Iterable[SetKey]) -> dict[SetKey, tuple[DataRange, ...]]:
    """Everything in data memory: what stays, then what doesn't, in the order in which it is loaded or used. Of sets
    that share rows the first has the bytes of all, as they move together. Source: US 2025/0265455 [0051]-[0053].
    """
    row_bytes = needs.topology.wide_memory.row_bytes
    ranges: dict[SetKey, tuple[DataRange, ...]] = {}
    address = 0
    for run in _in_rows(keys, stay, row_bytes):
        own = []
        for tiles, data in _joined(needs.sets, run, stay, row_bytes):
            own.append(DataRange(tiles, address, data))
            address += data.size
        ranges |= dict.fromkeys(run, ()) | {run[0]: tuple(own)}
    return ranges


def _in_rows(keys: Iterable[SetKey], stay: Mapping[SetKey, int], row_bytes: int) -> list[list[SetKey]]:
    """Sets that share rows together; each run begins with a row."""
    runs: list[list[SetKey]] = []
    for key in dict.fromkeys(keys):
        if stay.get(key, 0) % row_bytes:
            runs[-1].append(key)
        else:
            runs.append([key])
    return runs


def _joined(
    sets: ParameterSets, run: Sequence[SetKey], stay: Mapping[SetKey, int], row_bytes: int
) -> Iterator[tuple[int, Bytes]]:
    """The bytes of a run of sets, whole rows, with the tiles in which they are the same."""
    first = stay.get(run[0], 0)
    places = [stay.get(key, 0) - first for key in run]
    for variants in zip(*map(sets.variants, run), strict=True):
        whole = np.zeros(padded(places[-1] + sets.size_bytes(run[-1]), row_bytes), np.uint8)
        for place, (_, data) in zip(places, variants, strict=True):
            whole[place : place + data.size] = data
        yield variants[0][0], whole

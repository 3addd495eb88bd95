"""Which parameters of one or several networks stay in the tiles, which come during the run, and where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import DoesNotFit
from tilesim.machines.policies import CachePolicy
from tilesim.tiled.caching import Decision, Home, ParameterSet, order_of, plan
from tilesim.tiled.compiler.parameter_sets import ParameterSets, SetKey
from tilesim.tiled.compiler.stream_buffer import area_bytes, least_bytes, stream_slots
from tilesim.tiled.compiler.wide_layout import DataRange, Staging, StreamSlot, WideLayout
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

STAYS = frozenset({Home.COPY, Home.PARTITION})


@dataclass(frozen=True)
class Needs:
    """What a network wants of wide memory: parameter ``sets``, each of them in some rounds of tensorops (``uses``) and
    for so many cycles (``issue_cycles``), and rows for the tensors that cross the ring (bytes and tiles by name).
    """

    network: str
    topology: Topology
    sets: ParameterSets
    uses: Mapping[SetKey, range]
    issue_cycles: Mapping[SetKey, int]
    staging: Mapping[str, tuple[int, int]]

    @property
    def free_bytes(self) -> int:
        """What reserve and staging leave. Source: US 2025/0265455 [0007] and [0019]."""
        wide = self.topology.wide_memory
        return wide.size_bytes - wide.reserve_bytes - sum(size for size, _ in self.staging.values())

    def described(self, number: int) -> list[ParameterSet]:
        """The sets as the planner sees them; the network is the one of this number."""
        return [self._described(number, key) for key in self.sets.keys()]  # noqa: SIM118  (not a mapping)

    def _described(self, number: int, key: SetKey) -> ParameterSet:
        several = len(self.sets.variants(key)) > 1
        size, tiles = self.sets.size_bytes(key), self.sets.tiles(key)
        return ParameterSet(
            number, key.layer, key.chunk, key.title, size, several, tiles, self.issue_cycles.get(key, 0)
        )


@dataclass(frozen=True)
class _Joint:
    """For each network: what becomes of its sets, and where those lie that stay, from the first byte for such. ``end``
    is how many bytes they take in the tile with most.
    """

    decisions: list[dict[SetKey, Decision]]
    stay: list[dict[SetKey, int]]
    end: int


def all_stay(needs: Sequence[Needs], policy: CachePolicy) -> list[WideLayout] | None:
    """Everything in every tile that needs it, or None if it doesn't fit or is not wanted."""
    free = min(need.free_bytes for need in needs)
    joint = _joint(needs, policy, free)
    stays = all(decision.home in STAYS for own in joint.decisions for decision in own.values())
    return _layouts(needs, joint, [{}] * len(needs)) if policy.cache and stays and joint.end <= free else None


def some_stream(needs: Sequence[Needs], policy: CachePolicy) -> list[WideLayout]:
    """As much in the tiles as fits beside an area through which the rest streams.

    Raises:
        CapacityError: not even what one round of tensorops needs fits.
    """
    free = min(need.free_bytes - _area(need) for need in needs)
    budget = free if policy.cache else 0
    joint = _joint(needs, policy, budget)
    while joint.end > free:
        budget -= joint.end - free  # places alike in all tiles leave gaps
        joint = _joint(needs, policy, budget)
    streaming = zip(needs, joint.decisions, strict=True)
    return _layouts(needs, joint, [_slots(need, decisions, joint.end) for need, decisions in streaming])


def _joint(needs: Sequence[Needs], policy: CachePolicy, budget: int) -> _Joint:
    sets = [parameters for number, own in enumerate(needs) for parameters in own.described(number)]
    order = order_of(sets, policy.network_priority, policy.layer_priority)
    planned = iter(plan(sets, [budget] * needs[0].topology.tiles, order))
    decisions = [{key: next(planned) for key in own.sets.keys()} for own in needs]  # noqa: SIM118
    return _Joint(decisions, *_residents(needs, decisions))


def _residents(needs: Sequence[Needs], decisions: list[dict[SetKey, Decision]]) -> tuple[list[dict[SetKey, int]], int]:
    """A place for each set that stays, the same in all tiles that keep it; what many tiles keep comes first."""
    ends = [0] * needs[0].topology.tiles
    kept = [(number, key, d.holders) for number, own in enumerate(decisions) for key, d in own.items() if d.cached]
    stay: list[dict[SetKey, int]] = [{} for _ in needs]
    for number, key, holders in sorted(kept, key=lambda resident: -len(resident[2])):
        address = stay[number][key] = max(ends[tile] for tile in holders)
        for tile in holders:
            ends[tile] = address + needs[number].sets.size_bytes(key)
    return stay, max(ends)


def _area(needs: Needs) -> int:
    """Bytes for what streams."""
    if least_bytes(needs.sets, needs.uses) > needs.free_bytes:
        raise _too_large(needs, least_bytes(needs.sets, needs.uses))
    return area_bytes(needs.sets, needs.uses, needs.free_bytes)


def _slots(needs: Needs, decisions: Mapping[SetKey, Decision], end: int) -> dict[SetKey, StreamSlot]:
    """Places for what streams in all that reserve, what stays and staging rows leave."""
    wide = needs.topology.wide_memory
    area = range(wide.size_bytes - needs.free_bytes + end, wide.size_bytes)
    streaming = [key for key, decision in decisions.items() if decision.home not in STAYS]
    try:
        ahead = -(-needs.topology.instruction_bus.buffer_depth // 2)
        return stream_slots(needs.sets, needs.uses, streaming, area, wide.row_bytes, ahead)
    except DoesNotFit as error:
        raise _too_large(needs, error.item.size) from None


def _layouts(needs: Sequence[Needs], joint: _Joint, streaming: list[dict[SetKey, StreamSlot]]) -> list[WideLayout]:
    networks = zip(needs, joint.decisions, joint.stay, streaming, strict=True)
    layouts = [_layout(own, decisions, stay, joint.end, slots) for own, decisions, stay, slots in networks]
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
    key = max(needs.uses, key=needs.sets.size_bytes)
    return CapacityError(
        f"{needs.network}: parameters of layer {key.title} must fit the wide memory of {needs.topology.name}: "
        f"{format_bytes(size)} are needed at once, {format_bytes(needs.free_bytes)} of "
        f"{format_bytes(wide.size_bytes)} are free"
    )


def _layout(
    needs: Needs,
    decisions: Mapping[SetKey, Decision],
    stay: Mapping[SetKey, int],
    end: int,
    streaming: Mapping[SetKey, StreamSlot],
) -> WideLayout:
    """From the bottom: the reserve, what stays, staging rows, and all the rest for what streams."""
    wide = needs.topology.wide_memory
    first = wide.reserve_bytes
    staging, address = {}, first + end
    for name, (size, tiles) in needs.staging.items():
        staging[name] = Staging(address, size, tiles)
        address += size
    return WideLayout(
        topology=needs.topology,
        sets=needs.sets,
        decisions=decisions,
        staging=staging,
        stay={key: first + place for key, place in stay.items()},
        slots=streaming,
        stream=range(address, wide.size_bytes),
        sources=_sources(needs, [*stay, *streaming]),
    )


def _sources(needs: Needs, keys: Iterable[SetKey]) -> dict[SetKey, tuple[DataRange, ...]]:
    """Everything in data memory: what stays, then what doesn't, in the order in which it is loaded or used. Source: US
    2025/0265455 [0051]-[0053].
    """
    ranges: dict[SetKey, tuple[DataRange, ...]] = {}
    address = 0
    for key in dict.fromkeys(keys):
        own = []
        for variant in needs.sets.variants(key):
            own.append(DataRange(variant.tiles, address, variant.data))
            address += variant.data.size
        ranges[key] = tuple(own)
    return ranges

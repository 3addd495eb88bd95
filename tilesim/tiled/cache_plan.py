"""One or several networks on one chip: where the parameters of each layer live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import TypeVar

from tilesim.cache_document import CachedLayer, CacheDocument, CachedSet, TileAccount
from tilesim.machines.options import CompileOptions
from tilesim.network.graph import Network
from tilesim.tiled.caching import Decision
from tilesim.tiled.compiler.chip_part import layer_number
from tilesim.tiled.compiler.compile import planned_programs
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.partition_search import settled_wishes
from tilesim.tiled.topology import Topology

SCHEMA = "tilesim.cache/1"
DEFAULTS = CompileOptions()


@dataclass(frozen=True)
class CachePlan:
    """The layout of wide memory while each of the ``networks`` runs, by name, and each tile's account."""

    topology: Topology
    networks: Mapping[str, Network]
    layouts: tuple[WideLayout, ...]
    accounts: tuple[TileAccount, ...]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What becomes of each set of parameters, in the order in which they are first used."""
        return tuple(decision for layout in self.layouts for decision in layout.decisions.values())

    def document(self) -> CacheDocument:
        """The plan as JSON."""
        memory, rate = self.topology.data_memory, self.topology.parameter_bytes_per_cycle
        loaded, streamed = load_bytes(self.decisions), streamed_bytes(self.decisions)
        return {
            "schema": SCHEMA,
            "topology": self.topology.name,
            "networks": [{"name": name, "layers": self._layers(k)} for k, name in enumerate(self.networks)],
            "tiles": list(self.accounts),
            "parameter_bytes": sum(layout.data_bytes for layout in self.layouts),
            "data_memory_bytes": memory.size_bytes,
            "wide_memory_bytes": sum(account["capacity_bytes"] for account in self.accounts),
            "tiles_hold_data_memory": self.topology.tiles_hold_data_memory,
            "cached_bytes": sum(account["cached_bytes"] for account in self.accounts),
            "load_bytes": loaded,
            "load_descriptors": sum(isinstance(op, Infeed) for layout in self.layouts for op in layout.load()),
            "load_cycles_at_least": delivery_cycles(loaded, rate),
            "streamed_bytes": streamed,
            "streamed_cycles_at_least": delivery_cycles(streamed, rate),
            "runs": sum(descriptors(layout.sources, layout.cached) for layout in self.layouts),
            "runs_in_order": sum(descriptors(layout.decisions, layout.cached) for layout in self.layouts),
        }

    def _layers(self, network: int) -> list[CachedLayer]:
        """The layers of one network that have parameters."""
        own = [decision for decision in self.decisions if decision.set.network == network]
        network_of_layers = [*self.networks.values()][network]
        nodes = network_of_layers.nodes
        return [
            {
                "layer": layer_number(network_of_layers, layer),
                "name": nodes[layer].name,
                "kind": nodes[layer].kind,
                "sets": [_decision(decision) for decision in own_sets],
            }
            for layer, own_sets in groupby(own, lambda decision: decision.set.layer)
        ]


def plan_cache(networks: Mapping[str, Network], topology: Topology, options: CompileOptions = DEFAULTS) -> CachePlan:
    """Decide where the parameters of ``networks``, by name, live that are compiled together, whose requests may come in
    any order.
    """
    wishes = settled_wishes(list(networks.values()), topology, options)
    planned, _ = planned_programs(list(networks.values()), topology, options.cache, wishes)
    layouts = tuple(layout for _, _, layout in planned)
    decisions = [decision for layout in layouts for decision in layout.decisions.values()]
    peak, wide = max(layout.transient_bytes for layout in layouts), topology.wide_memory
    by_tile = accounts(decisions, wide.size_bytes, wide.reserve_bytes, [peak] * topology.tiles)
    return CachePlan(topology, networks, layouts, by_tile)


def _decision(decision: Decision) -> CachedSet:
    own, lack = decision.set, decision.lack
    return {
        "chunk": own.chunk,
        "bytes_per_tile": own.bytes_per_tile,
        "per_tile": own.per_tile,
        "tiles": list(own.users),
        "home": decision.home.value,
        "home_tile": decision.tile,
        "home_tiles": list(decision.hosts),
        "cached_bytes": decision.kept_bytes.total(),
        "lack": {"tile": lack.tile, "below_bytes": lack.below_bytes} if lack else None,
        "reason": decision.reason,
    }


def accounts(
    decisions: Sequence[Decision], capacity_bytes: int, reserve_bytes: int, peaks_bytes: Iterable[int]
) -> tuple[TileAccount, ...]:
    """Whose the bytes of each tile's wide memory are: the programs' reserve, the running network's at its peak, or
    cached parameters'.
    """
    cached: Counter[int] = Counter()
    for decision in decisions:
        cached.update(decision.kept_bytes)
    return tuple(
        {
            "tile": tile,
            "capacity_bytes": capacity_bytes,
            "reserve_bytes": reserve_bytes,
            "peak_bytes": peak,
            "cached_bytes": cached[tile],
            "free_bytes": capacity_bytes - reserve_bytes - peak - cached[tile],
        }
        for tile, peak in enumerate(peaks_bytes)
    )


def load_bytes(decisions: Iterable[Decision]) -> int:
    """Bytes that leave data memory before the first inference: copies are multicast, so they count once."""
    return sum(decision.set.data_bytes for decision in decisions if decision.cached)


def streamed_bytes(decisions: Iterable[Decision]) -> int:
    """Bytes that leave data memory in every inference."""
    return sum(decision.set.data_bytes for decision in decisions if not decision.cached)


def delivery_cycles(size_bytes: int, bytes_per_cycle: Fraction | int) -> int:
    """The cycles that data memory, or the host's link, takes for so many bytes, if nothing keeps it waiting.

    **Timing**: ceil(size_bytes / bytes_per_cycle).
    """
    return int(-(-size_bytes // bytes_per_cycle))


Item = TypeVar("Item", bound=Hashable)


def descriptors(order: Iterable[Item], cached: Collection[Item]) -> int:
    """How many descriptors parameters need that lie in ``order``: one for each run that is cached, or is not.

    **Source**: US 2025/0265455 [0051]-[0053].
    """
    return sum(1 for _ in groupby(order, lambda item: item in cached))

"""Networks on a chip: the plan as a document."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.parameter_sets import parts, shared
from tilesim import api
from tilesim.errors import CapacityError
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import CachePolicy
from tilesim.network.graph import Network
from tilesim.tiled.cache_plan import (
    SCHEMA,
    accounts,
    delivery_cycles,
    descriptors,
    load_bytes,
    plan_cache,
    streamed_bytes,
)
from tilesim.tiled.caching import plan
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.topology import Topology

NOTHING = CompileOptions(cache=CachePolicy(cache=False))
POOL = """
input: {shape: [1, 8, 8, 16], scale: 0.05, zero_point: -2}
layers:
  - {name: pool, kind: max_pool, window: [2, 2], strides: [2, 2], padding: valid}
"""


@pytest.fixture(scope="module")
def networks() -> dict[str, Network]:
    return {name: api.load_network(name) for name in ("digits", "example-residual")}


@pytest.fixture(scope="module")
def chip() -> Topology:
    """Where some sets are copied, some have a home tile, and some are streamed."""
    return api.load_topology("edge-1x2", {"wide_memory.size_bytes": "20 KiB", "wide_memory.reserve_bytes": "256 B"})


def placed(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for network in document["networks"] for layer in network["layers"] for entry in layer["sets"]]


def test_the_document_adds_up(networks: dict[str, Network], chip: Topology) -> None:
    plan = plan_cache(networks, chip)
    document = plan.document()
    assert (document["schema"], document["topology"]) == (SCHEMA, "edge-1x2") == ("tilesim.cache/1", "edge-1x2")
    assert {entry["home"] for entry in placed(document)} == {"copy", "home tile", "streamed"}
    assert document["parameter_bytes"] == document["load_bytes"] + document["streamed_bytes"]
    cached = sum(entry["cached_bytes"] for entry in placed(document))
    assert document["cached_bytes"] == sum(tile["cached_bytes"] for tile in document["tiles"]) == cached
    for tile in document["tiles"]:
        taken = [tile[f"{what}_bytes"] for what in ("reserve", "peak", "cached", "free")]
        assert sum(taken) == tile["capacity_bytes"] == 20 << 10
        assert tile["free_bytes"] >= 0
    assert document["load_cycles_at_least"] == document["load_bytes"] / 2
    for entry in placed(document):
        assert (entry["lack"] is None) == (entry["home"] == "copy")


def test_the_plan_is_what_the_compiler_does(networks: dict[str, Network], chip: Topology) -> None:
    document = plan_cache(networks, chip).document()
    programs = api.compile_networks([*networks.values()], chip)
    assert document["parameter_bytes"] == sum(segment.data.size for program in programs for segment in program.data)
    loads = [op for program in programs for op in program.load if isinstance(op, Infeed)]
    assert document["load_descriptors"] == len(loads)
    assert document["tiles_hold_data_memory"] is False
    assert document["load_bytes"] == sum(op.total_rows for op in loads) * 256
    streams = [op for program in programs for op in program.run if isinstance(op, Infeed) and op.source == "data"]
    assert document["streamed_bytes"] == sum(op.total_rows for op in streams) * 256


def test_cached_parameters_come_first_in_data_memory(networks: dict[str, Network], chip: Topology) -> None:
    """For each network two runs (oracle 20)."""
    plan = plan_cache(networks, chip)
    document = plan.document()
    for layout in plan.layouts:
        assert [*layout.sources][: len(layout.stay)] == [*layout.stay]
    assert (document["runs"], document["runs_in_order"]) == (4, 5)


@pytest.mark.parametrize("topology", ["edge-1x1", "edge-2x2"])
def test_a_descriptor_for_each_run_that_goes_to_the_same_tiles(networks: dict[str, Network], topology: str) -> None:
    """One for each network where tiles are alike. Each other set of tiles costs another, however parameters are packed:
    a descriptor addresses one set of tiles.
    """
    plan = plan_cache(networks, api.load_topology(topology))
    tiles = {(decision.set.network, decision.holders) for decision in plan.decisions}
    assert plan.document()["load_descriptors"] == len(tiles)
    assert len(tiles) == (2 if topology == "edge-1x1" else 3)  # the digits' classifier is on one tile


def test_layers_without_parameters_are_left_out(networks: dict[str, Network], chip: Topology) -> None:
    document = plan_cache(networks, chip).document()
    kinds = [[layer["kind"] for layer in network["layers"]] for network in document["networks"]]
    weighs = {"convolution", "depthwiseconvolution", "fullyconnected"}
    assert kinds == [[node.kind for node in one.nodes if node.kind in weighs] for one in networks.values()]


def test_the_peak_is_that_of_the_hungriest_network(networks: dict[str, Network], chip: Topology) -> None:
    """Without a cache nothing depends on the others."""
    alone = [plan_cache({name: network}, chip, NOTHING).document()["tiles"] for name, network in networks.items()]
    both = plan_cache(networks, chip, NOTHING).document()["tiles"]
    peaks = [[tile["peak_bytes"] for tile in tiles] for tiles in alone]
    assert [tile["peak_bytes"] for tile in both] == [max(of_tile) for of_tile in zip(*peaks, strict=True)]
    assert {tile["cached_bytes"] for tile in both} == {0}


def test_priorities_decide_who_is_cached(networks: dict[str, Network], chip: Topology) -> None:
    def first_of_second(**priorities: Any) -> str:
        document = plan_cache(networks, chip, CompileOptions(cache=CachePolicy(**priorities))).document()
        return str(document["networks"][1]["layers"][0]["sets"][0]["home"])

    assert first_of_second() == "streamed"
    assert first_of_second(network_priority=(1,)) == "home tile"
    assert first_of_second(layer_priority=((1, 0),)) == "home tile"


def test_all_parameters_must_fit_data_memory(networks: dict[str, Network]) -> None:
    small = api.load_topology("edge-1x2", {"data_memory.size_bytes": "30 KiB"})
    with pytest.raises(CapacityError, match="digits, example-residual: their parameters must fit the data "):
        plan_cache(networks, small)


def test_a_network_without_parameters(tmp_path: Path, chip: Topology) -> None:
    (tmp_path / "pool.yaml").write_text(POOL)
    network = api.load_network(tmp_path / "pool.yaml")
    document = plan_cache({"pool": network}, chip).document()
    assert (document["networks"][0]["layers"], document["parameter_bytes"], document["runs"]) == ([], 0, 0)
    with pytest.raises(CapacityError, match="pool: rows for the tensors that cross the ring must fit the wide memory"):
        plan_cache({"pool": network}, api.load_topology("edge-1x2", {"wide_memory.size_bytes": "512"}))


PEAKS = (50, 80)
DECISIONS = plan([shared(20, 0b11), parts(5, 0b11), shared(12, 0b11), shared(30, 0b11)], [60, 30], range(4))


def test_each_byte_of_a_tile_is_somebodys() -> None:
    tiles = [tuple(account.values()) for account in accounts(DECISIONS, 120, 10, PEAKS)]
    assert tiles == [(0, 120, 10, 50, 37, 23), (1, 120, 10, 80, 25, 5)]


def test_copies_are_loaded_once_and_parts_each() -> None:
    assert [decision.home for decision in DECISIONS] == ["copy", "partition", "home tile", "streamed"]
    assert load_bytes(DECISIONS) == 20 + 2 * 5 + 12
    assert streamed_bytes(DECISIONS) == 30


@pytest.mark.parametrize(("size", "cycles"), [(0, 0), (1, 1), (8, 4), (9, 5)])
def test_data_memory_delivers_two_bytes_a_cycle(size: int, cycles: int) -> None:
    assert delivery_cycles(size, 2) == cycles


LAYERS, CACHED = "ABCDE", {"A", "C", "E"}


def test_cached_layers_side_by_side_need_one_descriptor() -> None:
    """Oracle 20."""
    assert descriptors(LAYERS, CACHED) == 5
    assert descriptors("ACEBD", CACHED) == 2


@given(st.lists(st.integers(0, 20), unique=True), st.sets(st.integers(0, 20)))
def test_a_descriptor_for_each_change(order: list[int], cached: set[int]) -> None:
    packed = sorted(order, key=lambda item: item not in cached)
    assert descriptors(packed, cached) == len({item in cached for item in order})
    assert descriptors(order, cached) == bool(order) + sum((a in cached) != (b in cached) for a, b in pairwise(order))

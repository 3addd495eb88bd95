"""Policies from Python, where networks and layers have numbers."""

from __future__ import annotations

import pytest

import tilesim
from tilesim.machines.policies import CHANNEL, CachePolicy, PartitionPolicy

PARTITION = PartitionPolicy("spatial", ((0, 99, CHANNEL), (2, 0, CHANNEL), (0, -1, CHANNEL), (0, 0, CHANNEL)))
CACHE = CachePolicy(network_priority=(0, 7), layer_priority=((0, 0), (0, 1), (1, 99), (-1, 0)))
FAULTS = (
    "network_priority 7: must name a network, 0 to 1",
    "partition (0, 99): must name a layer of digits, 0 to 9",
    "partition (2, 0): must name a layer of a network, 0 to 1",
    "partition (0, -1): must name a layer of digits, 0 to 9",
    "layer_priority (0, 0): must name a layer of digits that has parameters",
    "layer_priority (1, 99): must name a layer of pocket, 0 to 4",
    "layer_priority (-1, 0): must name a layer of a network, 0 to 1",
)


def test_what_policies_name_must_be_there() -> None:
    networks = {name: tilesim.load_network(name) for name in ("digits", "pocket")}
    chip = tilesim.load_topology("edge-1x2")
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compile_networks([*networks.values()], chip, CACHE, PARTITION)
    assert caught.value.faults == FAULTS
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.cache_plan(networks, chip, CACHE, PARTITION)
    assert caught.value.faults == FAULTS


def test_one_network_is_checked_too() -> None:
    with pytest.raises(tilesim.InputError, match=r"partition \(0, 5\): must name a layer of pocket, 0 to 4$"):
        tilesim.compile(
            tilesim.load_network("pocket"),
            tilesim.load_topology("pocket-2x1"),
            PartitionPolicy("spatial", ((0, 5, CHANNEL),)),
        )


def test_mixed_is_a_choice_for_all_layers() -> None:
    network, chip = tilesim.load_network("example-residual"), tilesim.load_topology("edge-2x2")
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compile(network, chip, PartitionPolicy("mixed", ((0, 0, "mixed"),)))
    assert caught.value.faults == ("partition must be spatial, channel, auto or one, not 'mixed'",)

from __future__ import annotations

import pytest

import tilesim
from tilesim.config import load
from tilesim.machines.topology import Key, differences, keys, spelt
from tilesim.shipped import shipped
from tilesim.tiled.topology import Topology


def test_every_key_has_a_meaning_and_can_be_set() -> None:
    chip = tilesim.load_topology("pocket-2x1")
    found = list(keys(chip))
    assert Key("tile.lanes", 4, "outputs that are computed at once") in found
    assert all(key.meaning for key in found)
    again = load(shipped("topologies") / "edge-1x1.yaml", Topology, {key.key: spelt(key) for key in found})
    assert again == chip


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("a.size_bytes", 3 << 19, "1.5 MiB"),
        ("a.size_bytes", (1 << 20) + 1, "1048577"),
        ("a.size_bytes", 264_622, "264622"),
        ("a.row_bytes", 2048, "2048"),
        ("clock_hz", 1_500_000, "1.5 MHz"),
        ("clock_hz", 16, "16 Hz"),
        ("a.byte_filter", False, "false"),
    ],
)
def test_values_are_spelt_exactly(key: str, value: int, text: str) -> None:
    assert spelt(Key(key, value, "")) == text


def test_differences_name_both_values() -> None:
    one = tilesim.load_topology("edge-1x1")
    other = tilesim.load_topology("edge-1x1", {"tile.lanes": 32, "name": "mine", "host.latency_cycles": 7})
    assert differences(one, other) == [
        "host.latency_cycles: 0, not 7",
        "tile.lanes: 64, not 32",
        "name: edge-1x1, not mine",
    ]
    assert differences(one, one) == []


def test_choices_are_listed() -> None:
    meanings = {key.key: key.meaning for key in keys(tilesim.load_topology("edge-1x1"))}
    ends = {
        "machine": "that this is: tiled",
        "ring.queue": ": split or shared",
        "ring.no_consumer": ": stall or circulate",
        "mesh.destination": ": narrow or wide",
        "tile.traversal": ": adder or multiplier",
    }
    assert all(meanings[key].endswith(end) for key, end in ends.items())
    assert len({meanings[key] for key in ("machine", "name", "description", "clock_hz")}) == 4

"""The keys of a rotating chip: what follows from them, and what no chip can be."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import tilesim
from tests.rotating.programs import chip
from tilesim.rotating.topology import Rotation, Topology
from tilesim.shipped import shipped


def shipped_chips() -> list[Topology]:
    paths = [path for path in Path(shipped("topologies")).glob("*.yaml") if "machine: rotating" in path.read_text()]
    chips = [tilesim.load_topology(path.stem) for path in sorted(paths)]
    return [topology for topology in chips if isinstance(topology, Topology)]


def test_ncore_is_as_large_and_as_fast_as_published() -> None:
    """O-R20."""
    ncore = tilesim.load_topology("ncore")
    assert isinstance(ncore, Topology)
    assert ncore.link_cycles == 64
    assert 2 * ncore.macs_per_cycle * ncore.clock_hz == 20.48e12
    assert ncore.row_bytes * ncore.clock_hz == 10.24e12  # of either RAM; both: 20.48 TB a second
    assert ncore.data_ram.rows * ncore.row_bytes == ncore.weight_ram.rows * ncore.row_bytes == 8 << 20


def test_the_recalled_sizes() -> None:
    """O-R20."""
    recalled = tilesim.load_topology("nnu-512")
    assert isinstance(recalled, Topology)
    assert recalled.data_ram.rows * recalled.row_bytes == 64 << 10
    assert recalled.weight_ram.rows * recalled.row_bytes == 2 << 20


def test_chips_that_are_smaller_than_the_claim_say_so() -> None:
    small = [topology for topology in shipped_chips() if topology.units.count < 512]
    assert [topology.name for topology in small] == ["rotating-16", "rotating-8"]
    assert all("the claim" in topology.description and "512" in topology.description for topology in small)


def test_what_follows_from_its_keys() -> None:
    topology = chip(24, output={"words_per_cycle": 7}, host={"bytes_per_cycle": 5, "latency_cycles": 3})
    assert topology.conversion_cycles == 4
    assert topology.link_cycles == 3 + 5
    assert (topology.parameter_rows, topology.table_rows) == (9, 11)
    wide = chip(24, units={"word_bits": 16}, host={"bytes_per_cycle": 5})
    assert (wide.row_bytes, wide.link_cycles, wide.parameter_rows, wide.conversion_cycles) == (48, 10, 5, 1)
    halves = chip(8, weight_ram={"rows": 4, "shape": "half_rows"})
    assert (halves.weight_addresses, chip(8, weight_ram={"rows": 4}).weight_addresses) == (8, 4)


@pytest.mark.parametrize(
    ("words", "distances", "moves"),
    [
        *((11, "1 8", 4), (12, "1 8", 5), (12, "1 4 8", 2), (12, "1-64", 1), (64, "1-64", 1), (100, "1-64", 2)),
        *((0, "1", 0), (1, "1", 1), (7, "1 3-5 7", 1)),
    ],
)
def test_the_fewest_rotations(words: int, distances: str, moves: int) -> None:
    """O-R17."""
    rotation = Rotation(distances=distances)
    assert rotation.moves(words) == moves
    assert sum(rotation.route(words)) == words


@given(st.sets(st.integers(2, 9), max_size=3), st.integers(0, 40))
def test_no_other_rotations_are_fewer(others: set[int], words: int) -> None:
    rotation = Rotation(distances=" ".join(map(str, sorted({1, *others}))))
    route = rotation.route(words)
    assert sum(route) == words
    assert set(route) <= set(rotation.reach)
    fewer = range(len(route))
    assert not any(sum(one) == words for count in fewer if count <= 4 for one in product(rotation.reach, repeat=count))


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"rotation": {"distances": "2 4"}}, "must be rising numbers from 1 on, such as 1 4 16 or 1-64, not '2 4'"),
        ({"rotation": {"distances": "1 4 4"}}, "must be rising numbers from 1 on, such as 1 4 16 or 1-64, not '1 4 4'"),
        ({"rotation": {"distances": "1..4"}}, "must be rising numbers from 1 on, such as 1 4 16 or 1-64, not '1..4'"),
        ({"rotation": {"distances": ""}}, "must be rising numbers from 1 on, such as 1 4 16 or 1-64, not"),
        ({"rotation": {"distances": "1-9"}}, "rotation.distances must be below the 8 words of a ring, not 1-9"),
        ({"units": {"segment_shift": "quarter"}}, "units.segment_shift must be none where there is one segment"),
        ({"units": {"count": 9, "segments": 2}}, "units.count must be a multiple of 2, not 9"),
        (
            {"units": {"count": 9}, "weight_ram": {"shape": "half_rows"}},
            "units.count must be even where weight_ram.shape is half_rows, not 9",
        ),
        ({"output": {"words_per_cycle": 9}}, "output.words_per_cycle must be at most the 8 units, not 9"),
    ],
)
def test_what_no_chip_can_be(keys: dict[str, dict[str, Any]], sentence: str) -> None:
    with pytest.raises(ValidationError) as error:
        chip(8, **keys)
    assert sentence in str(error.value)


def test_one_distance_may_be_a_number() -> None:
    assert chip(8, rotation={"distances": 1}).rotation.reach == (1,)

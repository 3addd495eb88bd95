"""The proxy of a chip's area counts what the chip has."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilesim
from tilesim.explore.bench.area import area_of, table
from tilesim.registry import description_of

CHIPS = tilesim.list_topologies()


def test_the_table_is_that_of_its_sources() -> None:
    """In square micrometres, of 45 nm."""
    um2 = {name: cost.um2 for name, cost in table().items()}
    assert um2["mac"] == 282 + 137
    assert um2["sram_1_port"] == pytest.approx(8 * 0.346 / 0.7, rel=2e-3)
    assert um2["sram_2_ports"] == pytest.approx(1.3 * um2["sram_1_port"], rel=2e-3)
    assert um2["link"] == pytest.approx(8 * 0.28 * 1000)
    assert {cost.technology for cost in table().values()} == {"45 nm"}
    assert all("assumption" in cost.source for cost in table().values()), "each says what of it is assumed"


@pytest.mark.parametrize("name", CHIPS)
def test_every_chip_has_an_area_by_parts(name: str) -> None:
    """Square millimetres: 10 a tile at most, 1,000 of what has no tiles."""
    chip = tilesim.load_topology(name)
    area = area_of(chip)
    assert all(part >= 0 for part in area.values())
    assert 0.02 < sum(area.values()) < 10 * getattr(chip, "tiles", 100)
    parts = description_of(tilesim.load_topology(name).machine).area
    assert [*area] == [part.words for part in parts], "each is called otherwise"


def test_of_a_small_chip_by_hand() -> None:
    """2 tiles of 16 MACs, 2 KiB and 4 KiB of memory each, rows of 16 bytes, words of 4."""
    chip = tilesim.load_topology("pocket-2x1")
    assert (chip.tiles, chip.macs_per_cycle) == (2, 16)
    area = area_of(chip)
    assert area["MAC arrays"] == pytest.approx(2 * 16 * 419e-6)
    assert area["narrow memories"] == pytest.approx(2 * 2048 * 5.14e-6, abs=1e-6)
    assert area["wide memories"] == pytest.approx(2 * 4096 * 3.95e-6, abs=1e-6)
    assert area["ring"] == pytest.approx(5 * 16 * 2240e-6)
    assert area["mesh"] == pytest.approx(2 * 4 * 2240e-6)
    assert sum(area_of(tilesim.load_topology("pocket-2x1", {"wide_memory.ports": 2})).values()) > sum(area.values())


@pytest.mark.parametrize(
    ("rates", "bytes_a_cycle"),
    [((0, 0), 16), ((442_000_000, 55_000_000), 2), ((2_000_000_001, 0), 5 + 8), ((500_000_000, 500_000_001), 3)],
)
def test_a_host_s_link_is_as_wide_as_its_bytes_a_second_need(rates: tuple[int, int], bytes_a_cycle: int) -> None:
    """Whole bytes a cycle of 500 MHz, each way; 8 where no rate is given."""
    keys = ("host.to_chip_bytes_per_second", "host.from_chip_bytes_per_second")
    chip = tilesim.load_topology("edge-1x1", dict(zip(keys, rates, strict=True)))
    assert area_of(chip)["host"] == pytest.approx(bytes_a_cycle * 2240e-6)


@pytest.mark.parametrize("name", ["edge-1x1", "edge-1x2", "fig2-5x2"])
def test_it_has_as_many_links_as_a_run_counts(name: str) -> None:
    chip = tilesim.load_topology(name)
    run = tilesim.simulate(tilesim.compile(tilesim.load_network("pocket"), chip))
    counts = Counter(link["track"].split(".")[1] for link in run.statistics["links"])
    assert counts["ring"] == chip.ring_links
    assert counts["mesh"] == chip.mesh_links
    assert counts["instruction_bus"] == chip.instruction_bus_stops


SIZES = {"tile.lanes": 64, "narrow_memory.size_bytes": 65536, "wide_memory.size_bytes": 65536, "grid.rows": 2}


@given(st.sampled_from(sorted(SIZES)), st.integers(0, 3), st.integers(0, 3))
@settings(deadline=None, max_examples=20)
def test_more_of_something_takes_more(key: str, one: int, other: int) -> None:
    areas = [
        sum(area_of(tilesim.load_topology("edge-2x2", {"wide_memory.row_bytes": 2048, key: SIZES[key] << n})).values())
        for n in (one, other)
    ]
    assert (areas[0] < areas[1]) == (one < other)


def test_a_machine_that_says_nothing_has_none() -> None:
    class Unknown(tilesim.Topology):
        clock_hz: int = 1

    assert area_of(Unknown(machine="abacus", name="beads")) == {}

"""Roofs follow from the chip's keys; layers lie where their MACs, bytes and cycles put them."""

from __future__ import annotations

from typing import Any

import pytest

from tilesim.errors import InputError
from tilesim.report.analysis.layers import layers
from tilesim.report.analysis.roofline import Roofline, rooflines
from tilesim.report.document import SavedRun


def found(run: dict[str, Any]) -> list[Roofline]:
    return rooflines(run, layers(run))


def with_words(lines: list[Roofline], words: str) -> Roofline:
    return next(line for line in lines if line.words == words)


def counted(run: SavedRun, **actions: int) -> dict[str, Any]:
    """A run in which each layer counted so many bytes for each action."""
    actions_ = {name: {"count": 1, "bytes": moved, "pj": 1.0} for name, moved in actions.items()}
    layer = {"actions": actions_, "total_pj": 1.0 * len(actions)}
    return {**run.statistics, "energy": {"layers": [layer] * len(run.statistics["layers"])}}


def test_the_roofs_of_edge_2x2(digits_run: SavedRun) -> None:
    lines = found(counted(digits_run, narrow_read=4, wide_read=256, wide_write=256, data_memory_read=256))
    clock_hz, tiles = 500_000_000, 4
    assert {line.words: line.roof.per_second / clock_hz for line in lines} == {
        "byte read from narrow memory": tiles * 4,
        "byte that enters the ring": 256,
        "byte read from or written to wide memory": tiles * 256,
        "byte that crosses the mesh": 8 * 4,
        "byte read from data memory": 2,
        "byte to or from the host": 8,
        "byte of instructions": 16,
    }
    assert [peak.per_second / clock_hz for peak in lines[0].peaks] == [tiles * 64 * 4, tiles * 4]


@pytest.mark.parametrize(
    ("to_chip", "from_chip", "roof"), [(442, 55, 442), (0, 55, 4000), (442, 0, 4000), (9000, 55, 9000)]
)
def test_a_link_of_bytes_a_second_has_a_roof_of_these(
    digits_run: SavedRun, to_chip: int, from_chip: int, roof: int
) -> None:
    """That of its faster way: 8 bytes a cycle at 500 MHz where a way has no rate of its own."""
    chip = digits_run.statistics["chip"]
    rates = {"to_chip_bytes_per_second": to_chip * 10**6, "from_chip_bytes_per_second": from_chip * 10**6}
    linked: Any = {**digits_run.statistics, "chip": {**chip, "host": {**chip["host"], **rates}}}
    assert with_words(found(linked), "byte to or from the host").roof.per_second == roof * 10**6


def test_a_layer_lies_where_its_macs_bytes_and_cycles_put_it(digits_run: SavedRun) -> None:
    line = with_words(found(digits_run.statistics), "byte that enters the ring")
    for dot in line.dots:
        layer = digits_run.statistics["layers"][dot.layer.index or 0]
        assert dot.bytes == layer["bytes"]["ring"]["entered"]
        assert dot.intensity == (layer["macs"] / dot.bytes if dot.bytes else None)
        assert dot.achieved == pytest.approx(layer["macs"] / layer["cycles"] * 5e8)
        peak = layer["tiles"] * 256 * 5e8
        assert dot.achieved / peak == pytest.approx(layer["mac_utilisation"])


def test_layers_without_macs_are_left_out(digits_run: SavedRun) -> None:
    line = found(digits_run.statistics)[0]
    macs = [k for k, layer in enumerate(digits_run.statistics["layers"]) if layer["macs"]]
    assert [dot.layer.index for dot in line.dots] == macs


def test_bytes_of_several_actions_count_together(digits_run: SavedRun) -> None:
    lines = found(counted(digits_run, wide_read=512, wide_write=256))
    assert with_words(lines, "byte read from or written to wide memory").dots[0].bytes == 768


def test_what_no_layer_moved_has_no_roofline(digits_run: SavedRun) -> None:
    lines = found(counted(digits_run, wide_read=512, data_memory_read=0))
    assert not [line for line in lines if line.words in {"byte read from data memory", "byte read from narrow memory"}]


def test_under_the_slanted_roof_up_to_the_ridge(digits_run: SavedRun) -> None:
    line = with_words(found(digits_run.statistics), "byte that enters the ring")
    ridge = 4 * 256 / 256
    assert line.attainable(ridge / 2) == line.highest / 2
    assert line.attainable(ridge) == line.attainable(100 * ridge) == line.highest


def test_a_machine_that_nobody_described_has_none(digits_run: SavedRun) -> None:
    assert found({**digits_run.statistics, "machine": "abacus"}) == []


def test_a_run_without_macs_has_none(digits_run: SavedRun) -> None:
    assert rooflines(digits_run.statistics, []) == []


def test_a_chip_without_the_keys_of_its_kind_is_refused(digits_run: SavedRun) -> None:
    with pytest.raises(InputError, match=r"chip\.grid\.rows must be a whole number"):
        found({**digits_run.statistics, "chip": {"grid": 3}})

"""Rows as text: what stands where, and that nothing of a float is lost."""

from __future__ import annotations

import csv
import io
import json
import math

from tests.explore import fakes
from tilesim.explore.row import Row
from tilesim.explore.rows import export


def rows() -> list[Row]:
    """Two that ran and one that did not, not in order."""
    mixed = [fakes.row(2), fakes.row(0, "refused", "too small, by far"), fakes.row(1)]
    return [{**row, "chip": {**row["chip"], "clock_hz": 500, "cached": bool(k)}} for k, row in enumerate(mixed)]


def test_a_flat_row_has_everything_but_sources_and_layers() -> None:
    assert export.flat(fakes.row(3)) == {
        "key": "00000003",
        "network": "net",
        "topology": "chip",
        "machine": "tiled",
        "tile.lanes": 3,
        "partition": "spatial",
        "status": "ran",
        "tiles": 4,
        "macs": 24,
        "cycles": 3,
        "load_cycles": 7,
        "latency_us": 0.006,
        "throughput_per_second": 125e6,
        "energy_pj": 3 / 7,
        "mac_utilisation": 0.25,
        "bound_by": "busy",
        "outputs_sha256": f"{3:064x}",
        "breakdown.busy": 1.0,
        "breakdown.idle": 2.0,
        "bytes.ring": 9,
        "peak_bytes.narrow": 3,
        "area_mm2": 0.5,
        "area_mm2.macs": 0.5,
        "reason": "",
        "command": "tilesim run net -t chip --set tile.lanes=3",
    }


def test_flat_rows_are_in_order_and_have_the_keys_that_differ() -> None:
    records = export.flat_rows(rows())
    assert [(record["key"], record["tile.lanes"], record["cycles"]) for record in records] == [
        ("00000000", 0, None),
        ("00000001", 1, 1),
        ("00000002", 2, 2),
    ]
    assert "clock_hz" not in records[0]
    assert [record["cached"] for record in records] == [True, True, False]
    assert len({tuple(record) for record in records}) == 1
    assert export.flat_rows([]) == []


def test_columns_of_measures_stand_together_whatever_row_is_first() -> None:
    names = [*export.flat_rows(rows())[0]]
    assert names.index("breakdown.busy") == names.index("outputs_sha256") + 1


def test_columns_that_one_row_has_stand_among_their_like_and_no_cycles_are_0() -> None:
    row = fakes.row(5)
    assert row["measures"]
    ring: Row = {**row, "measures": {**row["measures"], "breakdown": {"busy": 2.0, "ring": 3.0}}}
    records = export.flat_rows([*rows(), ring])
    names = [*records[0]]
    assert [name for name in names if name.startswith("breakdown")] == names[
        (k := names.index("breakdown.busy")) : k + 3
    ]
    assert [record["breakdown.ring"] for record in records] == [None, 0.0, 0.0, 3.0]
    assert [record["breakdown.idle"] for record in records] == [None, 1 - 1 / 3, 2 - 2 / 3, 0.0]


def test_csv_has_the_same_as_text() -> None:
    text = export.csv(rows())
    found = [*csv.DictReader(io.StringIO(text))]
    assert found[0]["reason"] == "too small, by far"
    assert (found[0]["cycles"], found[0]["cached"]) == ("", "true")
    assert float(found[1]["energy_pj"]) == 1 / 7
    assert text == export.csv(reversed(rows()))
    assert "seconds" not in text
    assert [row["seconds"] for row in csv.DictReader(io.StringIO(export.csv(rows(), {"00000001": 1.5})))] == [
        "",
        "1.5",
        "",
    ]
    assert export.csv([]) == "key\n"


def test_json_has_everything() -> None:
    assert json.loads(export.json(rows())) == sorted(rows(), key=lambda row: row["key"])
    timed = json.loads(export.json(rows(), {"00000001": 1.5}))
    assert [row["seconds"] for row in timed] == [None, 1.5, None]
    assert json.loads(export.json([])) == []


def test_a_number_that_json_has_not_stays_one_for_those_who_read_it_with_python() -> None:
    [found] = json.loads(export.json([{**fakes.row(1), "area": {"macs": math.inf}}]))
    assert found["area"] == {"macs": math.inf}

"""Which keys may be fitted: rates, times and sizes, as data sheets state them; and which values they take."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim
from tilesim.errors import InputError
from tilesim.explore.calibration.cases import read_cases
from tilesim.explore.calibration.keys import FittedKey, fitted_keys

POINTS = "model,condition,value,unit,use\ndigits,,1,us,train\npocket,,1,us,train\npocket,clock_hz=1 MHz,1,us,test\n"


def fitted(tmp_path: Path, *names: str, **changes: object) -> list[FittedKey]:
    path = tmp_path / "points.csv"
    path.write_text(POINTS)
    topology = tilesim.load_topology("coral-usb", {key.replace("__", "."): value for key, value in changes.items()})
    return fitted_keys(names, topology, read_cases(path, "coral-usb"))


def faults_of(tmp_path: Path, *names: str, **changes: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        fitted(tmp_path, *names, **changes)
    return [*caught.value.faults]


def test_keys_know_which_values_they_may_have(tmp_path: Path) -> None:
    rate, width = fitted(tmp_path, "host.to_chip_bytes_per_second", "ring.width_bytes")
    assert (rate.value, rate.grain, rate.powers) == (442_000_000, 1, False)
    assert (width.value, width.powers) == (8, True)
    [size] = fitted(tmp_path, "narrow_memory.size_bytes")
    assert (size.grain, size.powers) == (4, False), "words of 4 bytes"
    [row] = fitted(tmp_path, "wide_memory.row_bytes")
    assert row.powers
    [hop] = fitted(tmp_path, "ring.hop_cycles")
    assert (hop.value, hop.powers, hop.grain) == (1, False, 1)


def test_values_near_and_beside() -> None:
    whole, width, size = (FittedKey("x", 8, "", 1), FittedKey("x", 8, "", 1, powers=True), FittedKey("x", 8, "", 4))
    assert [whole.nearest(value) for value in (0.2, 7.4, 7.6)] == [1, 7, 8]
    assert [width.nearest(value) for value in (0.2, 5.5, 6, 12)] == [1, 4, 8, 16]
    assert [size.nearest(value) for value in (1, 9, 11)] == [4, 8, 12]
    assert [(key.beside(8, 1.05), key.beside(8, 0.95)) for key in (whole, width, size)] == [(9, 7), (16, 4), (12, 4)]
    assert [key.beside(8, 2.0) for key in (whole, width, size)] == [16, 16, 16]
    assert (whole.beside(1000, 1.05), whole.beside(1000, 1 / 1.05)) == (1050, 952)
    assert (whole.beside(1, 0.5), width.beside(1, 0.5), size.beside(4, 0.5)) == (1, 1, 4)
    real = FittedKey("x", 2.0, "")
    assert real.nearest(2.3) == 2.3
    assert real.beside(2.0, 1.05) == pytest.approx(2.1)


NO_DATA_SHEET = (
    "must be a rate, a time or a size, as data sheets state them, such as clock_hz, host.bytes_per_cycle or "
    "host.latency_cycles; what is counted, named or chosen is not fitted"
)


@pytest.mark.parametrize(
    "name", ["name", "grid.rows", "tile.lanes", "ring.queue", "host.sends_padding", "mesh.credits"]
)
def test_what_no_data_sheet_states_as_a_number_is_refused(tmp_path: Path, name: str) -> None:
    assert faults_of(tmp_path, name) == [f"fit {name}: {NO_DATA_SHEET}"]


def test_other_refusals(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "hots.request_ns") == [
        "fit hots.request_ns: must be a key of coral-usb, not 'hots.request_ns'; did you mean 'host.request_ns'?"
    ]
    assert faults_of(tmp_path, "partition") == [
        "fit partition: must be a key of the chip: an option has no value to fit"
    ]
    assert faults_of(tmp_path, "host.request_ns", host__request_ns=0) == [
        "fit host.request_ns: must have a value above 0 to begin from, not 0; --set gives it one"
    ]
    assert faults_of(tmp_path, "clock_hz") == [
        f"{tmp_path}/points.csv:4: condition clock_hz must be left out where clock_hz is fitted"
    ]


def test_fewer_points_to_train_with_than_keys_are_refused(tmp_path: Path) -> None:
    three = ("host.request_ns", "ring.width_bytes", "ring.hop_cycles")
    assert faults_of(tmp_path, *three) == [
        f"{tmp_path}/points.csv: must have as many points to train with as keys are fitted, 3, not 2"
    ]
    assert faults_of(tmp_path, "ring.hop_cycles", "ring.hop_cycles") == [
        "fit ring.hop_cycles must be given once, not 2 times"
    ]

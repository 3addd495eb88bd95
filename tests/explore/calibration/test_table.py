"""Tables of published points are read, or all that is wrong with them is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilesim.budgets import MOST_TABLE_ROWS
from tilesim.errors import InputError, kept
from tilesim.explore.calibration.table import Fault, Published, read_table

TITLES = "model,condition,value,unit,use\n"


def read(tmp_path: Path, text: str) -> tuple[list[Published], list[Fault]]:
    path, faults = tmp_path / "points.csv", list[Fault]()
    path.write_text(text)
    return read_table(path, faults), faults


def faults_of(tmp_path: Path, line: str) -> list[str]:
    return [fault.sentence for fault in read(tmp_path, TITLES + line)[1]]


def test_a_point_has_models_a_condition_a_value_and_its_use(tmp_path: Path) -> None:
    text = "use,unit,value,condition,model,source\ntest,ms,1.5e-1,clock_hz=1 MHz; partition=spatial,digits,somebody\n"
    [point], faults = read(tmp_path, text)
    assert not faults
    assert point == Published(
        2, ("digits",), {"clock_hz": "1 MHz", "partition": "spatial"}, 0.15, "ms", "test", "somebody"
    )
    assert (point.model, point.spelt) == ("digits", "clock_hz=1 MHz; partition=spatial")


def test_of_two_models_the_difference_is_published(tmp_path: Path) -> None:
    [point], _ = read(tmp_path, TITLES + "fc_64x64 - digits,topology=edge-1x1,3,cycles,train\n")
    assert point.models == ("fc_64x64", "digits")
    assert (point.model, point.spelt, point.source) == ("fc_64x64 - digits", "", "")


def test_files_are_where_the_table_is(tmp_path: Path) -> None:
    [point], _ = read(tmp_path, TITLES + "nets/a.tflite - /b.onnx,topology=chip.yaml,3,us,train\n")
    assert point.models == (str(tmp_path / "nets" / "a.tflite"), "/b.onnx")
    assert point.condition == {"topology": str(tmp_path / "chip.yaml")}


def test_empty_lines_and_comments_are_left_out_and_counted(tmp_path: Path) -> None:
    points, _ = read(tmp_path, f"# of a chip, by somebody\n\n{TITLES},,,,\n # more\ndigits,,1,us,train\n")
    assert [point.line for point in points] == [6]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (",,1,us,train", "model must be a name or a file, or two with ' - ' between, not nothing"),
        ("a - b - c,,1,us,train", "model must be a name or a file, or two with ' - ' between, not 'a - b - c'"),
        ("a,clock_hz,1,us,train", "condition must be KEY=VALUE, with ; between several, not 'clock_hz'"),
        ("a,x=1;x=2,1,us,train", "condition x must be given once, not 2 times"),
        ("a,,-1,us,train", "value must be a number above 0, not '-1'"),
        ("a,,0,us,train", "value must be a number above 0, not '0'"),
        ("a,,nan,us,train", "value must be a number above 0, not 'nan'"),
        ("a,,1,kg,train", "unit must be s, ms, us, ns, cycles or inferences/s, not 'kg'"),
        (
            "a - b,,1,inferences/s,train",
            "unit must be a time or cycles where the value is a difference of two models, not inferences/s",
        ),
        ("a,,1,us,trian", "use must be train or test, not 'trian'; did you mean 'train'?"),
        ("a,,1,us", "must have 5 cells, as many as there are columns, not 4"),
    ],
)
def test_a_line_is_refused_in_a_sentence(tmp_path: Path, line: str, fault: str) -> None:
    assert faults_of(tmp_path, line) == [fault]


def test_all_faults_are_told_with_their_lines(tmp_path: Path) -> None:
    _, faults = read(tmp_path, TITLES + "a,,x,us,no\nb,,1,us,train\nb,,2,us,test\nc\n")
    assert [fault.line for fault in faults] == [2, 2, 5, 4]
    assert faults[-1] == Fault(4, "must be another point than that of line 3")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ": must begin with the names of its columns: model,condition,value,unit,use"),
        (
            "model,value\n",
            ":1: the columns must be model, condition, value, unit, use; there is no condition and no unit",
        ),
        (
            TITLES.replace("use", "uses"),
            ":1: a column must be model, condition, value, unit, use or source, not 'uses'",
        ),
        (f"use,{TITLES}", ":1: the column use must be there once, not 2 times"),
        (TITLES + '"a', ":2: must be a table with commas between its columns: unexpected end of data"),
        (TITLES + "a,,1,us,train\n" * (MOST_TABLE_ROWS + 1), ": must have at most 1,000 points, not 1,001"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert caught.value.faults[0].startswith(f"{tmp_path / 'points.csv'}{fault}")


def test_a_table_without_points_and_no_file(tmp_path: Path) -> None:
    assert read(tmp_path, TITLES)[1] == [
        Fault(1, "must have points below it, one a line, not only the names of columns")
    ]
    with pytest.raises(InputError, match="there is no such file"):
        read_table(tmp_path / "none.csv", [])


CELL = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["model", "value", "train", "us", "a - b", "clock_hz=1", "x=1;;y", '"', "#", "1e99", "0x1", "\0"]),
)


@given(st.lists(st.lists(CELL, max_size=7).map(",".join), max_size=6).map("\n".join), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_is_read_or_refused_in_sentences(tmp_path: Path, text: str, titled: bool) -> None:
    path, faults = tmp_path / "points.csv", list[Fault]()
    path.write_bytes((TITLES * titled + text).encode("utf-8", "surrogatepass"))
    refused: list[str] = []
    with kept(refused):
        assert all(point.models and point.line > 0 for point in read_table(path, faults))
    assert all(fault.startswith(str(path)) for fault in refused)

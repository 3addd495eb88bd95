from itertools import count
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, field_validator, model_validator

from tilesim.budgets import LARGEST_YAML_BYTES, MOST_YAML_LEVELS, MOST_YAML_VALUES
from tilesim.config import Bytes, ConfigSection, Hertz, load, peek
from tilesim.errors import ConfigError


class Tile(ConfigSection):
    lanes: int = 64
    memory_bytes: Bytes = 65536

    @field_validator("lanes")
    @classmethod
    def _power(cls, value: int) -> int:
        if value & (value - 1):
            raise ValueError(f"must be a power of two, not {value}")
        return value


class Layer(ConfigSection):
    kind: Literal["conv"]
    kernel: tuple[int, int]


class Pool(ConfigSection):
    kind: Literal["pool"]


class Chip(ConfigSection):
    name: str
    clock_hz: Hertz = 1
    rows: Annotated[int, Field(ge=1, le=16)] = 4
    load_factor: float = 0.5
    exact: bool = True
    queue: Literal["split", "shared"] = "split"
    tile: Tile = Tile()
    layers: tuple[Annotated[Layer | Pool, Field(discriminator="kind")], ...] = ()

    @model_validator(mode="after")
    def _agree(self) -> "Chip":
        if self.tile.lanes < self.rows:
            raise ValueError(f"tile.lanes must be at least rows {self.rows}\nrows must be at most tile.lanes")
        return self


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chip.yaml"


def faults(path: Path, text: str | bytes, **overrides: object) -> list[str]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as error:
        load(path, Chip, {key.replace("__", "."): value for key, value in overrides.items()})
    assert error.value.exit_status == 2
    return [fault.removeprefix(f"{path}:") for fault in error.value.faults]


def test_a_good_file(path: Path) -> None:
    path.write_text(
        "name: a\nclock_hz: 500 MHz\ntile: &t {lanes: 32, memory_bytes: 64 KiB}\nload_factor: 1\n"
        "layers: [{kind: conv, kernel: [3, 3]}, {kind: pool}]\n"
    )
    chip = load(path, Chip)
    assert (chip.clock_hz, chip.tile.lanes, chip.tile.memory_bytes, chip.load_factor) == (500_000_000, 32, 65536, 1.0)
    assert chip.layers[0] == Layer(kind="conv", kernel=(3, 3))
    with pytest.raises(ValidationError):
        chip.rows = 3  # type: ignore[misc]


def test_all_faults_at_once_in_the_order_of_the_file(path: Path) -> None:
    text = (
        "clock_hz: 0\ntile:\n  lanse: 4\n  lanes: 48\nrows: 17\nqueue: splt\nexact: 1\nload_factor: '1'\nlayers: {}\n"
    )
    assert faults(path, text) == [
        "1:1: name is missing",
        "1:11: clock_hz must be a frequency above zero, not 0",
        "3:3: unknown key 'tile.lanse'; did you mean 'tile.lanes'?",
        "4:10: tile.lanes must be a power of two, not 48",
        "5:7: rows must be at most 16, not 17",
        "6:8: queue must be 'split' or 'shared', not 'splt'; did you mean 'split'?",
        "7:8: exact must be true or false, not 1",
        "8:14: load_factor must be a number, not '1'",
        "9:9: layers must be a list, not a section with keys",
    ]


def test_a_misspelt_section_hides_no_fault_of_another(path: Path) -> None:
    assert faults(path, "name: a\ntlie: {lanes: 4}\nrows: 0\nzebra:\n") == [
        "2:1: unknown key 'tlie'; did you mean 'tile'?",
        "3:7: rows must be at least 1, not 0",
        "4:1: unknown key 'zebra'; the keys there are name, clock_hz, rows, load_factor, exact, queue, tile, layers",
    ]


def test_a_union_is_named_by_its_own_keys_only(path: Path) -> None:
    text = (
        "name: a\nlayers:\n- {kind: conv, kernel: [3]}\n- {kind: cnv}\n- {kind: pool, kernle: 1}\n- {kernel: [1, 1]}\n"
    )
    assert faults(path, text) == [
        "3:24: layers.0.kernel.1 is missing",
        "4:10: layers.1.kind must be one of 'conv', 'pool', not 'cnv'; did you mean 'conv'?",
        "5:16: unknown key 'layers.2.kernle'; the keys there are kind",
        "6:3: layers.3.kind is missing",
    ]


def test_a_validator_of_the_whole_points_at_the_key_it_names(path: Path) -> None:
    assert faults(path, "name: a\nrows: 16\ntile:\n  lanes: 8\n") == [
        "2:7: rows must be at most tile.lanes",
        "4:10: tile.lanes must be at least rows 16",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("# only words\n", "empty"),
        ("- 1\n", "1:1: the file must be a section with keys, not a list"),
        ("name: [\n", "2:1: not valid YAML"),
        ("name: a: b\n", "1:8: not valid YAML"),
        ("name: a\n---\nname: b\n", "2:1: not valid YAML"),
        ("name: a\nrows: 1\nrows: 2\n", "rows is given twice, first at"),
        ("name: a\ntile: {<<: {lanes: 1}}\n", "2:8: a key of tile must be a plain word"),
        ("name: &n [*n]\n", "1:7: name.0 contains itself"),
        ("name: !python/object:os.system a\n", "1:7: the tag"),
        ("name: a\nrows: !!int x\n", "2:7: 'x' is not of the type 'int'"),
        ("name: a\nrows: 9" + "9" * 5000, "2:7: a number must have at most 400 digits, not 5001"),
        ("name: a\nrows: 0x" + "f" * 5000, "2:7: a number must have at most 400 digits, not 5002"),
        ("name: a\nrows: 0b" + "1" * 401, "2:7: a number must have at most 400 digits, not 403"),
        ("name: a\nrows: 1" + "_0" * 300, "2:7: a number must have at most 400 digits, not 601"),
        ("name: a\nrows: 1" + ":1" * 200_000, "2:7: a number must have at most 400 digits, not 400001"),
        ("name: a\nexact: 1" + ":1" * 300 + ".5", "2:8: a number must have at most 400 digits, not 603"),
        ("name: a\nrows: 0x" + "f" * 398, "2:7: rows must be at most"),
        ("%YAML 1." + "1" * 5000 + "\n---\nname: a", "not valid YAML: there is no character, or no version, of such "),
        ('name: "\\UFFFFFFFF"', "not valid YAML: there is no character, or no version, of such a number"),
        ('name: "\\ud83e\\udd8a"', "1:7: text must be of whole characters, not of halves such as '\\ud83e'"),
        ('"\\ud83e\\udd8a": a', "1:1: a key of the file must be a plain word"),
        ('name: "\\ud800"', "1:7: text must be of whole characters"),
        ("name: " + "a" * 5000, "1:7: a text must have at most 4096 characters, not 5000"),
        ("name: a\n? " + "a" * 5000 + "\n: 1", "2:3: a key must have at most 4096 characters, not 5000"),
        ("name: " + "[" * (MOST_YAML_LEVELS + 5) + "]" * (MOST_YAML_LEVELS + 5), "nest at most"),
        ("[" * 9000, "nest at most"),
        ("a: &a [" + "1," * 400 + "]\nb: &b [" + "*a," * 400 + "]", "must hold at most 50000 values"),
        ("name: [" + "1," * MOST_YAML_VALUES + "]", "more than 50000 keys and values"),
        ("name: &n " + "n" * 1000 + "\nlayers: [" + "*n," * 1000 + "]", "of 512 KiB in all; check its aliases"),
        ("name: \x00", "not valid YAML: unacceptable character"),
        (b"\xff\xfe\xfa", "UTF-8"),
        (b" " * (LARGEST_YAML_BYTES + 1), "must have at most 512 KiB"),
    ],
    ids=map(str, count()),
)
def test_odd_files_get_a_sentence(path: Path, text: str | bytes, fault: str) -> None:
    assert fault in "\n".join(faults(path, text))


@pytest.mark.parametrize("name", ["nowhere.yaml", ".", "a\0b"])
def test_unreadable_paths_get_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read|must be a file|there is no such file"):
        load(tmp_path / name, Chip)


def test_a_file_of_many_gigabytes_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ConfigError, match="must have at most 512 KiB, not 1024 GiB"):
        load(path, Chip)


def test_overrides_lie_on_top(path: Path) -> None:
    path.write_text("name: a\ntile:\nlayers: [{kind: conv, kernel: [3, 3]}]\n")
    changes = {"tile.lanes": "16", "rows": np.int64(2), "layers.0.kernel": "[1, 3]", "name": "b", "clock_hz": "1 GHz"}
    chip = load(path, Chip, changes)
    assert (chip.tile.lanes, chip.rows, chip.name, chip.clock_hz) == (16, 2, "b", 10**9)
    assert chip.layers == (Layer(kind="conv", kernel=(1, 3)),)


def test_long_words_of_overrides_are_cut(path: Path) -> None:
    long = 5000 * "x"
    for key, value in (("name", long), ("rows", long), ("layers", f"[{long}]"), ("name.x", long)):
        for fault in faults(path, "name: a\nrows: 1\n", **{key: value}):
            assert fault.startswith("override ")
            assert len(fault) < 300


def test_faults_of_overrides_follow_those_of_the_file(path: Path) -> None:
    changes = {"tile.lanes": "48", "tile.lanse": 1, "name.x": 1, "layers.0.kind": "pool", "exact": "[", "tile.": 1}
    assert faults(path, "name: a\nrows: 0\n", **changes) == [
        "2:7: rows must be at least 1, not 0",
        "override tile.lanes=48: tile.lanes must be a power of two, not 48",
        "override tile.lanse=1: unknown key 'tile.lanse'; did you mean 'tile.lanes'?",
        "override name.x=1: name is a single value, without a key 'x'",
        "override layers.0.kind=pool: layers must be a list, not a section with keys",
        "override exact=[: the value is not valid YAML",
        "override tile.=1: the key must be words with a dot between them, such as grid.rows",
    ]


@pytest.mark.parametrize(
    ("text", "changes", "places"),
    [
        ("rows: 8\ntile: {lanes: 4}\n", {}, {"1:7", "2:15"}),
        ("tile: {lanes: 4}\n", {"rows": 8}, {"override rows=8"}),
        ("rows: 8\n", {"tile.lanes": 4}, {"override tile.lanes=4"}),
        ("", {"rows": 8, "tile.lanes": 4}, {"override rows=8", "override tile.lanes=4"}),
    ],
)
def test_what_an_override_does_not_agree_with_is_a_fault_of_the_override(
    path: Path, text: str, changes: dict[str, object], places: set[str]
) -> None:
    found = faults(path, f"{text}name: a\n", **changes)
    assert {fault.split(": ")[0] for fault in found} == places


@pytest.mark.parametrize(
    "value", ["0x" + "f" * 5000, "9" * 5000, "0b" + "1" * 20_000, "1" + ":1" * 500, 10**5000], ids=map(str, count())
)
def test_an_override_is_no_number_without_end(path: Path, value: object) -> None:
    (fault,) = faults(path, "name: a\n", rows=value)
    assert "a number must have at most 400 digits" in fault


def test_an_entry_beyond_every_number_is_none(path: Path) -> None:
    (fault,) = faults(path, "name: a\nlayers: []\n", **{f"layers.{'9' * 5000}": "1"})
    assert "layers is a list of 0, counted from 0, without an entry" in fault


def test_an_override_replaces_a_faulty_value(path: Path) -> None:
    path.write_text("name: a\ntile: {lanse: 3}\nrows: 99\n")
    assert load(path, Chip, {"tile": "{lanes: 8}", "rows": "8"}).tile.lanes == 8


@given(st.text() | st.binary())
def test_nothing_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str | bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    with pytest.raises(ConfigError):
        load(path, Chip)


@given(st.text(), st.text())
def test_no_override_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, key: str, value: str) -> None:
    path = tmp_path_factory.getbasetemp() / "plain.yaml"
    path.write_text("rows: 1\n")
    with pytest.raises(ConfigError):
        load(path, Chip, {key: value, f"tile.{key}": value, "rows": value})


@pytest.mark.parametrize(
    ("text", "choice"),
    [("kind: two", "two"), ("kind: tow", "two"), ("other: two", "one"), ("- two", "one")],
)
def test_a_choice_is_peeked_at(tmp_path: Path, text: str, choice: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    assert peek(path, "kind", ("one", "two")) == choice


@pytest.mark.parametrize("value", ["7", "four", "[7]"])
def test_a_choice_must_be_one_of_those_there_are(tmp_path: Path, value: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"kind: {value}")
    with pytest.raises(ConfigError, match=r"c\.yaml: kind must be 'one' or 'two', not "):
        peek(path, "kind", ("one", "two"))


def test_a_number_without_end_is_no_choice(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("kind: 0x" + "f" * 5000)
    with pytest.raises(ConfigError, match=r"c\.yaml:1:7: a number must have at most 400 digits, not 5002"):
        peek(tmp_path / "c.yaml", "kind", ("one", "two"))


def test_a_file_is_read_as_it_stands_each_time(path: Path) -> None:
    """What was read of it before, with whatever overrides, leaves no trace."""
    text = "name: a\nlayers: [{kind: conv, kernel: [3, 3]}]\n"
    path.write_text(text)
    first = load(path, Chip)
    assert load(path, Chip, {"layers.0.kernel": "[1, 3]", "name": "b"}) != first
    assert faults(path, text, layers="3", new="1") == faults(path, text, layers="3", new="1")
    assert load(path, Chip) == first
    path.write_text(text.replace("name: a", "name: b"))
    assert load(path, Chip).name == "b"

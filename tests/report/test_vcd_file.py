"""A Value Change Dump says what the state log says, when it is read as the standard has it."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import tilesim
from tests.report.test_watch import watched
from tilesim.errors import InputError
from tilesim.report.vcd_file import write_vcd
from tilesim.sim.trace.signals import Signals
from tilesim.statistics import RunStatistics

FS = {"ns": 10**6, "ps": 10**3, "fs": 1}


@dataclass
class Dump:
    """What a reader finds: values of each variable by its path, at the times that are told."""

    unit_fs: int = 0
    codes: dict[str, str] = field(default_factory=dict)
    times: list[int] = field(default_factory=list)
    changes: dict[str, list[tuple[int, int | str]]] = field(default_factory=dict)

    def values(self, path: str) -> list[int | str]:
        """Those at all times but the last, which is the end."""
        changes = self.changes[path]
        return [[value for at, value in changes if at <= time][-1] for time in self.times[:-1]]


def read(text: str) -> Dump:
    head, _, body = text.partition("$enddefinitions $end\n")
    dump, scope = Dump(), list[str]()
    for keyword, words in re.findall(r"\$(\w+) (.*?) ?\$end\n", head):
        parts = words.split()
        if keyword == "timescale":
            dump.unit_fs = int(parts[0]) * FS[parts[1]]
        elif keyword == "scope":
            scope.append(parts[1])
        elif keyword == "upscope":
            scope.pop()
        elif keyword == "var":
            assert parts[2] not in dump.codes
            dump.codes[parts[2]] = ".".join([*scope, parts[3]])
    assert scope == []
    for line in body.splitlines():
        if line[0] == "#":
            dump.times.append(int(line[1:]))
            continue
        value, code = line[1:].split(" ")
        read_value = int(value, 2) if line[0] == "b" else value.encode().decode("unicode_escape")
        dump.changes.setdefault(dump.codes[code], []).append((dump.times[-1], read_value))
    return dump


@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
def test_it_says_what_the_log_says(chip: str, tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    run = tilesim.simulate(program, signals=range(30, 150))
    signals = run.signals
    assert signals is not None
    assert tilesim.save_trace(run, tmp_path / "x.vcd") == len(signals.cycle)
    dump = read((tmp_path / "x.vcd").read_text())
    cycle_fs = 10**15 // run.statistics["clock_hz"]
    assert [time * dump.unit_fs for time in dump.times] == [cycle * cycle_fs for cycle in range(30, 151)]
    assert dump.values("cycle") == [*range(30, 150)]
    for name, kind, row in zip(signals.names, signals.kinds, signals.table().tolist(), strict=True):
        if kind in ("flag", "fill"):
            assert dump.values(name) == row
        else:
            texts = [signals.texts[value] if value >= 0 else "-" for value in row]
            assert dump.values(f"{name}.{kind}") == texts
    tilesim.save_trace(run, tmp_path / "loud.VCD")
    assert (tmp_path / "loud.VCD").read_bytes() == (tmp_path / "x.vcd").read_bytes()
    tilesim.save_trace(run, tmp_path / "x.vcd.gz")
    assert gzip.decompress((tmp_path / "x.vcd.gz").read_bytes()) == (tmp_path / "x.vcd").read_bytes()


@pytest.mark.parametrize(("chip", "machine"), [("pocket-2x1", "tiled"), ("systolic-4", "systolic")])
def test_with_a_trace_units_have_states(chip: str, machine: str, tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    run = tilesim.simulate(program, trace=True, signals=range(30, 150))
    tilesim.save_trace(run, tmp_path / "x.vcd")
    dump, watch = read((tmp_path / "x.vcd").read_text()), watched(run, machine, ["*"])
    units = [unit for unit in watch.units if not watch.is_link(unit)]
    assert len(units) > 5
    for unit in units:
        states = [value if value != "work" else "-" for value in dump.values(f"{unit}.state")]
        assert states == [now.state if now else "-" for now in watch.activity(unit)], unit


@pytest.mark.parametrize(
    ("clock_hz", "unit_fs", "times"),
    [
        (10**7, 10**8, [0, 1, 2, 3]),
        (5 * 10**8, 10**6, [0, 2, 4, 6]),
        (480_000_000, 1, [0, 2_083_333, 4_166_666, 6_250_000]),
    ],
)
def test_time_is_the_clocks(tmp_path: Path, clock_hz: int, unit_fs: int, times: list[int]) -> None:
    dump = read(written(tmp_path, "chip.fifo", "a", clock_hz))
    assert (dump.unit_fs, dump.times) == (unit_fs, times)


def written(folder: Path, name: str, text: str, clock_hz: int = 10**9) -> str:
    one = np.zeros(1, np.int64)
    signals = Signals((name,), ("instruction",), (text,), range(3), one.astype(np.int32), one, one)
    statistics = cast(RunStatistics, {"clock_hz": clock_hz})
    with (folder / "x.vcd").open("wb") as file:
        write_vcd(statistics, signals, None, file, lambda _: None)
    return (folder / "x.vcd").read_text()


@pytest.mark.parametrize("text", ["a b", "back\\slash", "line\nend", "$end", "#5", "tab\there"])
def test_no_text_breaks_it(tmp_path: Path, text: str) -> None:
    dump = read(written(tmp_path, "chip.unit", text))
    assert dump.values("chip.unit.instruction") == [text] * 3
    assert len(read(written(tmp_path, f"chip.{text}", "x")).codes) == 2


def test_without_a_log_it_says_so(tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    run = tilesim.simulate(program, trace=True)
    with pytest.raises(InputError, match=r"must have a state log, which simulate\(\.\.\., signals=range"):
        tilesim.save_trace(run, tmp_path / "x.vcd")
    run.save(tmp_path)
    with pytest.raises(InputError, match=r"must hold a signals\.npz, which tilesim run --signals FROM:TO --out "):
        tilesim.save_trace(tmp_path, tmp_path / "x.vcd")
    with pytest.raises(InputError, match=r"x\.vcd: must end in \.json or \.json\.gz for Chrome's viewer"):
        tilesim.save_trace(tmp_path, tmp_path / "x.vcd", chrome=True)

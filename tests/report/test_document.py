"""Whatever is wrong with the folder of a run is said in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.report.batched import batched
from tests.report.saved import made_up, random_trace
from tests.soak import counts
from tests.systolic.handmade import dense, some, topology
from tilesim import api, simulate
from tilesim.budgets import MOST_RUN_VALUES
from tilesim.errors import InputError, ProgramError
from tilesim.machines.host import random_inputs
from tilesim.report.document import SavedRun, load_run
from tilesim.report.page.sections import report
from tilesim.sim.trace.signals import Signals
from tilesim.sim.trace.state_log import StateLog

TRACKS = ("chip.infeed", "chip.tile0.tensor")
ACCOUNT = {"track": "chip.infeed", "busy_cycles": 1, "stall_cycles": {"flag": 2}, "idle_cycles": 3}
Saved: TypeAlias = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Write a run into a folder, some of its statistics changed or, if None, left out."""

    def write(**changes: Any) -> Path:
        run = made_up(random_trace(1, TRACKS, 5), units=[ACCOUNT])
        assert run.trace
        run.trace.save(tmp_path / "trace.npz")
        document = {key: value for key, value in {**run.statistics, **changes}.items() if value is not None}
        (tmp_path / "run.json").write_text(json.dumps(document), encoding="utf-8")
        return tmp_path

    return write


def faults(folder: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_run(folder)
    return [fault.replace(f"{folder}", "RUN") for fault in caught.value.faults]


def test_a_run_comes_back(saved: Saved) -> None:
    run = load_run(saved())
    assert run.statistics["units"] == [ACCOUNT]
    assert run.trace is not None
    assert run.trace.sha256 == run.statistics["trace_sha256"]


def test_a_run_need_not_have_a_trace(saved: Saved) -> None:
    folder = saved()
    (folder / "trace.npz").unlink()
    assert load_run(folder).trace is None


def test_a_state_log_comes_with_it(saved: Saved) -> None:
    folder = saved()
    assert load_run(folder).signals is None
    logged(range(2, 5)).save(folder / "signals.npz")
    found = load_run(folder).signals
    assert found is not None
    assert (found.window, found.names) == (range(2, 5), ("chip.fifo",))
    assert load_run(folder, with_trace=False).signals is None


def logged(window: range) -> Signals:
    log = StateLog(window)
    log.signal("chip.fifo", "fill")
    log.begin(0)
    return log.signals(window.stop)


def test_a_state_log_is_of_the_run(saved: Saved) -> None:
    folder = saved()
    cycles = load_run(folder).statistics["cycles"]
    logged(range(2, cycles + 1)).save(folder / "signals.npz")
    rule = "must be the state log of the run of run.json beside it, and goes beyond its end"
    assert faults(folder) == [f"RUN/signals.npz: {rule}"]
    (folder / "signals.npz").write_bytes(b"no archive")
    assert faults(folder)[0].startswith("RUN/signals.npz: must be an .npz file: ")


def test_a_folder_must_hold_a_run(tmp_path: Path) -> None:
    hint = "give one that `tilesim run MODEL --out DIR` has written"
    assert faults(tmp_path) == [f"RUN: has no run.json; {hint}"]
    (tmp_path / "file").touch()
    assert faults(tmp_path / "file") == [f"RUN: is no folder; {hint}"]
    assert faults(tmp_path / "nothing") == [f"RUN: is no folder; {hint}"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "must be JSON: Expecting property name"),
        ("[" * 100_000, "must be JSON: "),
        ("[1]", "must be an object with the statistics of a run, not [1]"),
        ("{}", "schema must be 'tilesim.run/1', not null"),
        ('{"schema": "tilesim.run/9"}', "schema must be 'tilesim.run/1', not \"tilesim.run/9\""),
    ],
)
def test_statistics_must_be_statistics(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    (found,) = faults(tmp_path)
    assert found.startswith(f"RUN/run.json: {fault}")


def test_statistics_must_be_text(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"\xff\xfe")
    (found,) = faults(tmp_path)
    assert found.startswith("RUN/run.json:1:1: the text must be UTF-8, not ")


def test_statistics_are_no_larger_than_those_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for text in ("[" + "{}," * MOST_RUN_VALUES + "0]", '{"layers": [' + "0," * MOST_RUN_VALUES + "0]}"):
        path.write_text(text)
        assert faults(tmp_path) == [f"RUN/run.json: must have at most {MOST_RUN_VALUES} values"]
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert faults(tmp_path) == ["RUN/run.json: must have at most 16 MiB, not 1024 GiB"]


def test_all_faults_of_statistics_are_said_at_once(saved: Saved) -> None:
    units = [ACCOUNT, {**ACCOUNT, "busy_cycles": -1, "stall_cycles": {"flag": "x"}}]
    assert faults(saved(cycles="many", load_cycles=None, units=units)) == [
        'RUN/run.json: cycles must be a valid integer, not "many"',
        "RUN/run.json: load_cycles is missing",
        "RUN/run.json: units[1].busy_cycles must be greater than or equal to 0, not -1",
        'RUN/run.json: units[1].stall_cycles.flag must be a valid integer, not "x"',
    ]


def test_a_run_has_few_causes_of_a_cycle(saved: Saved) -> None:
    breakdown = {f"cause{k}": 1 for k in range(1001)}
    assert faults(saved(breakdown=breakdown)) == ["RUN/run.json: breakdown must have at most 1000 entries, not 1001"]


def test_numbers_must_be_some_that_a_run_can_have(saved: Saved) -> None:
    chip = {"a": [0, float("nan")], "b\x1b": -(10**30), "c": float("inf"), "d": 1e20, "e": True}
    assert faults(saved(cycles=2**60, chip=chip)) == [
        "RUN/run.json: cycles must be a number between -2.81475e+14 and 2.81475e+14, not 1152921504606846976",
        "RUN/run.json: chip.a[1] must be a number between -1e+30 and 1e+30, not NaN",
        f"RUN/run.json: chip.b\\u001b must be a number between -2.81475e+14 and 2.81475e+14, not {-(10**30)}",
        "RUN/run.json: chip.c must be a number between -1e+30 and 1e+30, not Infinity",
    ]


def test_a_trace_must_be_one(saved: Saved) -> None:
    folder = saved()
    (folder / "trace.npz").write_bytes(b"no archive")
    assert faults(folder) == ["RUN/trace.npz: must be an .npz file: File is not a zip file"]


def test_a_trace_must_be_that_of_the_run(saved: Saved) -> None:
    assert faults(saved(trace_sha256="0" * 64)) == [
        "RUN/trace.npz: must be the trace of the run that run.json beside it is of, and is of another one",
    ]


def places(value: Any, key: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where everything in a document is; of a list's elements, the first."""
    yield from [key] if key else []
    parts = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, (*key, name))


def test_strange_batches_never_end_in_a_traceback(tmp_path: Path) -> None:
    refused: list[str] = []
    whole = batched("demand", 2).statistics
    for (*above, name), strange in product(places(whole["batching"]), (None, -1, 10**9, "x", [1], {})):
        document = deepcopy(whole)
        reduce(lambda part, step: part[step], above, document["batching"])[name] = strange
        (tmp_path / "run.json").write_text(json.dumps(document), encoding="utf-8")
        try:
            report(load_run(tmp_path))
        except InputError as error:
            refused += list(error.faults)
    assert f"{tmp_path / 'run.json'}: batching.steps[0].first must be greater than or equal to 0, not -1" in refused


def test_a_strange_array_never_ends_in_a_traceback(tmp_path: Path) -> None:
    refused: list[str] = []
    simulate(dense(topology(), some((9, 6)), 5), [some((5, 9))]).save(tmp_path)
    whole = load_run(tmp_path).statistics
    keys = [("chip", *key) for key in places({"array": whole["chip"]["array"]})]
    keys += [("layers", 0, *key) for key in places({"matrix": whole["layers"][0]["matrix"]})]
    for (*above, name), strange in product(keys, (None, -1, 0, "x", [1], {}, {"x": 1})):
        document = deepcopy(whole)
        reduce(lambda part, step: part[step], above, document)[name] = strange
        (tmp_path / "run.json").write_text(json.dumps(document), encoding="utf-8")
        try:
            report(load_run(tmp_path))
        except InputError as error:
            refused += list(error.faults)
    file = tmp_path / "run.json"
    assert f"{file}: chip.array.rows must be greater than 0, not 0" in refused
    assert f'{file}: layers[0].matrix.inputs must be a valid integer, not "x"' in refused


def test_an_array_of_another_machine_is_its_own_business(saved: Saved) -> None:
    run = load_run(saved(chip={"array": {"units": 4096}}))
    assert run.statistics["chip"] == {"array": {"units": 4096}}


@pytest.mark.parametrize("every", counts(7, 1))
def test_what_is_missing_or_strange_never_ends_in_a_traceback(digits_run: SavedRun, tmp_path: Path, every: int) -> None:
    refused: list[str] = []
    changes = [*product(places(digits_run.statistics), (None, -1, "x", [1], {"x": 1}, {}))]
    for (*above, name), strange in changes[::every]:
        document = deepcopy(digits_run.statistics)
        holder = reduce(lambda part, step: part[step], above, document)
        if strange == {}:
            del holder[name]
        else:
            holder[name] = strange
        (tmp_path / "run.json").write_text(json.dumps(document), encoding="utf-8")
        try:
            report(load_run(tmp_path))
        except InputError as error:
            refused += list(error.faults)
    assert refused
    assert [fault for fault in refused if not fault.startswith(f"{tmp_path / 'run.json'}: ")] == []


def test_the_program_that_ran_is_read_when_asked_for(tmp_path: Path) -> None:
    program = api.compile(api.load_network("pocket"), api.load_topology("pocket-2x1"))
    run = api.simulate(program, random_inputs(program.inputs))
    run.save(tmp_path)
    assert load_run(tmp_path).program is None
    api.save_program(program, tmp_path / "program.tasm")
    found = load_run(tmp_path).program
    assert found is not None
    assert found.run == program.run
    (tmp_path / "program.tasm").write_text(".tasm 1\n", encoding="utf-8")
    with pytest.raises(ProgramError):
        _ = load_run(tmp_path).program


def test_the_program_must_be_that_of_the_run(tmp_path: Path) -> None:
    program = api.compile(api.load_network("pocket"), api.load_topology("pocket-2x1"))
    api.simulate(program, random_inputs(program.inputs)).save(tmp_path)
    api.save_program(replace(program, name="other"), tmp_path / "program.tasm")
    with pytest.raises(ProgramError) as caught:
        _ = load_run(tmp_path).program
    [fault] = caught.value.faults
    assert fault.endswith("program.tasm: must be the program of the run in run.json beside it, and is another one")

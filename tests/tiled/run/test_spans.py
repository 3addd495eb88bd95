"""The trace of the compiled engine: that of SimPy, span for span, with all cycles and bytes that units have counted."""

from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import numpy as np
import pytest

import tilesim
from tests.tiled.corpus.gates import with_gates
from tests.tiled.corpus.links import with_narrow_links
from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.corpus.records import with_records
from tests.tiled.corpus.written import behind_a_full_outfeed
from tests.tiled.dataflow.agreement import COMPILED, inputs_for, must_be_same, must_trace_alike
from tilesim.errors import InputError, ProgramError, RunError
from tilesim.machines.options import RunOptions
from tilesim.sim.trace.recorder import Recording
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run import spans
from tilesim.tiled.run.simulate import simulate

pytestmark = COMPILED
ALL = Recording()
CHANGES = (lambda bare, _: bare, with_gates, with_narrow_links, with_records)
PATTERNS = (
    ("*",),
    ("chip.tile?.*",),
    ("*ring*", "chip.mesh.*"),
    ("chip.tile0.tensor", "chip.controller"),
    ("chip.outfeed", "chip.host.*", "*classifier"),
)


def compiled(network: str | Path, chip: str, partition: str = "spatial") -> Program:
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip), partition)
    assert isinstance(program, Program)
    return program


@pytest.fixture(scope="module")
def program() -> Program:
    return compiled("digits", "edge-2x2")


@pytest.mark.parametrize("tracks", PATTERNS)
@pytest.mark.parametrize("window", [None, range(1), range(137, 1001), range(999_999, 1_000_000), range(-5, 400)])
def test_a_window_and_patterns_cut_the_same(program: Program, window: range | None, tracks: tuple[str, ...]) -> None:
    must_trace_alike(program, Recording(window, tracks))


def test_nobody_need_be_in_a_trace(program: Program) -> None:
    must_trace_alike(program, Recording(tracks=()))


def test_a_master_begins_anew_with_each_piece_of_work_and_so_does_each_of_several() -> None:
    work, whose, cycles = np.array([[4, 4, 7, 7, 7, 7], [0, 0, 0, 0, 1, 1], [3, 2, 5, 1, 2, 8]])
    assert spans._before(work, whose, cycles).tolist() == [0, 3, 0, 5, 0, 2]


@pytest.mark.parametrize("together", [1, 50, 3000])
@pytest.mark.parametrize("window", [None, range(137, 1001)])
def test_tracks_are_the_same_however_many_are_looked_at_together(
    program: Program, window: range | None, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "TOGETHER", together)
    must_trace_alike(program, Recording(window))


@pytest.mark.parametrize("window", [range(1, 2), range(213_000, 214_100), range(106_000, 108_500)])
@pytest.mark.parametrize("chip", ["coral-usb", "coral-pcie"])
def test_a_window_cuts_what_the_host_sends_in_proportion(chip: str, window: range) -> None:
    must_trace_alike(compiled("pocket", chip), Recording(window))


def test_what_is_forwarded_by_the_outfeed_is_in_the_trace() -> None:
    must_trace_alike(behind_a_full_outfeed(), ALL)


def test_a_pattern_must_match(program: Program) -> None:
    faults = []
    for engine in ("simpy", "compiled"):
        with pytest.raises(InputError, match="tracks to trace: each must be a unit or link of edge-2x2") as refused:
            simulate(
                program, inputs_for(program), RunOptions(engine=engine, recording=Recording(tracks=("chip.tile9",)))
            )
        faults.append(refused.value.faults)
    assert faults[0] == faults[1]


def test_a_trace_does_not_change_who_runs() -> None:
    program = compiled("digits", "edge-4x4")
    runs = [tilesim.simulate(program, trace=trace) for trace in (False, True)]
    assert [run.engine for run in runs] == ["compiled", "compiled"]
    assert runs[1].trace is not None


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x4", "coral-usb"])
def test_spans_have_all_cycles_of_the_accounts(chip: str) -> None:
    run = tilesim.simulate(compiled("digits", chip), trace=True, engine="compiled")
    trace = run.trace
    assert trace is not None
    spent: dict[str, Counter[str]] = defaultdict(Counter)
    for track, kind, start, cycles in zip(trace.track, trace.kind, trace.start_cycle, trace.cycles, strict=True):
        if start >= trace.start:
            spent[trace.tracks[track]][trace.kinds[kind]] += int(cycles)
    for unit in (*run.statistics["units"], *run.statistics["links"]):
        kinds = {"busy": unit["busy_cycles"], **{f"stall:{why}": n for why, n in unit["stall_cycles"].items()}}
        assert spent[unit["track"]] == +Counter(kinds), unit["track"]


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x4", "coral-usb"])
def test_spans_of_links_have_all_bytes_that_they_carry(chip: str) -> None:
    run = tilesim.simulate(compiled("digits", chip), trace=True, engine="compiled")
    trace = run.trace
    assert trace is not None
    moved = Counter[str]()
    for track, start, size in zip(trace.track, trace.start_cycle, trace.bytes, strict=True):
        moved[trace.tracks[track]] += int(size) if start >= trace.start else 0
    carried = {link["track"]: link["bytes"] for link in run.statistics["links"]}
    assert any(carried.values())
    assert {track: moved[track] for track in carried} == carried


@pytest.mark.parametrize(
    ("number", "change"),
    [(512, 0), (605, 3), (1479, 3), (1639, 3), (2490, 2), (2621, 1), (2888, 0), (3771, 3), (4047, 3)],
)
def test_several_fences_or_engines_that_are_through_in_one_cycle(number: int, change: int) -> None:
    must_trace_alike(CHANGES[change](random_program(number), number), ALL)


def tally(numbers: range) -> Counter[str]:
    """How random programs end, whose traces do not differ, whole or in part."""
    found: Counter[str] = Counter()
    for number in numbers:
        bare, random = random_program(number), Random(number)  # noqa: S311
        if uncovered(bare):
            continue
        program, start = CHANGES[number % len(CHANGES)](bare, number), random.randrange(60)
        window = range(start, start + random.randrange(1, 60))
        for recording in (ALL, Recording(window, random.choice(PATTERNS[:2]))):
            given = inputs_of(program)
            try:
                defined = simulate(program, given, RunOptions(engine="simpy", recording=recording))
            except (ProgramError, RunError) as error:
                found[type(error).__name__] += 1
                continue
            must_be_same(simulate(program, given, RunOptions(engine="compiled", recording=recording)), defined)
            found["ended"] += 1
    return found


def test_random_programs_leave_the_same_traces() -> None:
    assert tally(range(9000, 9150))["ended"] > 30


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunk", [3, *(pytest.param(chunk, marks=pytest.mark.soak) for chunk in range(8) if chunk != 3)]
)
def test_many_random_programs_leave_the_same_traces(chunk: int) -> None:
    assert tally(range(chunk, 6000, 8))["ended"] > 200


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mlperf_kws_dscnn", "mlperf_resnet8"])
@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4", "coral-usb"])
def test_models_leave_the_same_traces(models: Path, model: str, chip: str) -> None:
    trace = must_trace_alike(compiled(models / model / "model.tflite", chip), ALL)
    assert len(np.unique(trace.track)) == len(trace.tracks) > 50

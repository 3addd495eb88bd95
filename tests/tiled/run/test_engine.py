"""Which engine runs a program, and what it says when it can't."""

from dataclasses import replace
from typing import Any

import pytest

import tilesim
from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.dataflow.agreement import COMPILED, must_be_same
from tilesim.errors import InputError, RunError
from tilesim.machines import frame
from tilesim.machines.options import RunOptions
from tilesim.run import Look, RunProgress
from tilesim.sim.trace.recorder import Recording
from tilesim.tiled.dataflow.effects import Effects
from tilesim.tiled.dataflow.order import Refused
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.isa.model.instructions import Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run import engine as engine_module
from tilesim.tiled.run.counted import tracks
from tilesim.tiled.run.simulate import simulate
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.chip import Chip


@pytest.fixture(scope="module")
def program() -> Program:
    made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("edge-2x2"))
    assert isinstance(made, Program)
    return made


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise NoCompiler("no C compiler is there to make the core")

    monkeypatch.setattr(engine_module, "library", none)


def nothing(_anything: object) -> None:
    """Nobody listens."""


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"instant": "*"}, "instant must be left out for the compiled engine"),
        ({"signals": range(3)}, "signals must be left out for the compiled engine"),
        ({"on_packet": nothing}, "on_packet must be left out for the compiled engine"),
        ({"masters": "single"}, "masters must be meet for the compiled engine, not single"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(program: Program, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError) as refused:
        tilesim.simulate(program, engine="compiled", **given)
    assert refused.value.faults == (f"{program.name}: {fault}",)


def test_all_that_is_not_covered_is_named_at_once(program: Program) -> None:
    ring = program.topology.ring.model_copy(update={"no_consumer": "circulate"})
    odd = replace(program, topology=program.topology.model_copy(update={"ring": ring}))
    with pytest.raises(InputError) as refused:
        tilesim.simulate(odd, engine="compiled", instant="*")
    assert [fault.split(": ", 1)[1] for fault in refused.value.faults] == [
        "instant must be left out for the compiled engine",
        "ring.no_consumer must be stall for the compiled engine, not circulate",
    ]
    assert tilesim.simulate(odd, engine="auto").engine == "simpy"


@COMPILED
def test_a_trace_beyond_what_the_core_can_note_is_simpys(program: Program) -> None:
    """Cycles from 2^33 on; without a trace it can go on."""
    given: dict[str, Any] = {"holds": {program.run[-1].label: 1 << 33}, "engine": "compiled"}
    assert tilesim.simulate(program, **given).engine == "compiled"
    run = tilesim.simulate(program, trace=True, **given)
    assert (run.engine, run.note) == ("simpy", "SimPy ran this, for its report: the run is too long for the core")
    assert run.trace is not None
    assert run.trace.start_cycle.max() >= 1 << 33
    given["holds"] = {program.run[-1].label: (1 << 33) - 10_000}
    held = {name: tilesim.simulate(program, trace=True, **given | {"engine": name}) for name in ("compiled", "simpy")}
    assert [name for name, run in held.items() if run.engine == name] == [*held]
    compiled, simpy = (run.trace for run in held.values())
    assert compiled is not None
    assert simpy is not None
    assert compiled.sha256 == simpy.sha256
    assert (compiled.released_by == simpy.released_by).all()


def test_many_inferences_are_refused(program: Program) -> None:
    with pytest.raises(InputError, match="requests must be at most 64 for the compiled engine, not 65"):
        tilesim.simulate_requests([program], order=[0] * 65, engine="compiled")
    assert tilesim.simulate_requests([program], order=[0] * 65, engine="auto").engine == "simpy"


@COMPILED
@pytest.mark.parametrize("order", [[0, 0], [1, 0, 1], [0, 0, 1, 1], [1] * 17])
@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2", "edge-4x4", "coral-usb", "coral-pcie"])
def test_several_inferences_are_the_same_on_both_engines(chip: str, order: list[int]) -> None:
    networks = [tilesim.load_network(name) for name in ("pocket", "digits")]
    programs = tilesim.compile_networks(networks, tilesim.load_topology(chip))
    defined, run = (
        tilesim.simulate_requests(programs, order=order, engine=name, trace=Recording())
        for name in ("simpy", "compiled")
    )
    must_be_same(run, defined)


def test_an_engine_must_be_one_of_three(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^engine must be auto, compiled or simpy, not 'fast'"):
        tilesim.simulate(program, engine="fast")
    monkeypatch.setenv("TILESIM_ENGINE", "fast")
    with pytest.raises(InputError, match=r"^TILESIM_ENGINE: engine must be auto, compiled or simpy, not 'fast'"):
        tilesim.simulate(program)


def test_other_machines_have_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("systolic-32"))
    with pytest.raises(InputError, match="engine must be left out: a systolic machine has no compiled engine"):
        tilesim.simulate(program, engine="compiled")
    assert {tilesim.simulate(program, engine=word).engine for word in ("auto", "simpy")} == {"simpy"}
    monkeypatch.setenv("TILESIM_ENGINE", "compiled")
    assert tilesim.simulate(program).engine == "simpy"


@COMPILED
def test_the_environment_says_it_where_nobody_else_does(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tilesim.simulate(program).engine == "compiled"
    monkeypatch.setenv("TILESIM_ENGINE", "simpy")
    assert tilesim.simulate(program).engine == "simpy"
    assert tilesim.simulate(program, engine="compiled").engine == "compiled"


@COMPILED
def test_auto_takes_the_compiled_engine_for_what_it_covers(program: Program) -> None:
    assert simulate(program, inputs_of(program), RunOptions(engine="auto")).engine == "compiled"
    assert simulate(program, inputs_of(program), RunOptions(engine="auto", signals=range(3))).engine == "simpy"


@pytest.mark.usefixtures("without_compiler")
def test_without_a_compiler_simpy_runs_everything(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of(program)
    assert simulate(program, inputs, RunOptions(engine="auto")).note == ""  # nobody waits for that
    monkeypatch.setattr(engine_module, "MANY", 1)
    plain, asked, auto = (simulate(program, inputs, RunOptions(engine=name)) for name in ("simpy", "compiled", "auto"))
    assert [run.engine for run in (plain, asked, auto)] == ["simpy"] * 3
    assert plain.json() == asked.json() == auto.json()
    fault = "no C compiler is there to make the core"
    assert [run.note for run in (plain, asked, auto)] == [
        "",
        f"SimPy ran this, not the compiled engine: {fault}",
        f"SimPy ran this, in up to forty times the time: {fault}",
    ]


def test_who_switched_the_engine_off_is_told_so_if_he_asks(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tilesim.tiled.core")
    monkeypatch.setenv("TILESIM_CC", "none")
    asked, auto = (simulate(program, inputs_of(program), RunOptions(engine=name)) for name in ("compiled", "auto"))
    assert [run.engine for run in (asked, auto)] == ["simpy"] * 2
    assert [run.note for run in (asked, auto)] == ["SimPy ran this, not the compiled engine: TILESIM_CC is none", ""]


@COMPILED
def test_what_cannot_be_carried_out_is_refused_by_name(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_given: object) -> None:
        raise Refused(0, "takes a part of what is not there")

    monkeypatch.setattr(engine_module, "carried_out", refused)
    label = frame.named(program).load[0].label
    with pytest.raises(InputError, match=f"{label} takes a part of what is not there: that is not covered"):
        simulate(program, inputs_of(program), RunOptions(engine="compiled"))
    assert simulate(program, inputs_of(program), RunOptions(engine="auto")).engine == "simpy"


@COMPILED
def test_who_looks_is_told_how_far_it_is(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Look] = []
    seen: list[RunProgress] = []
    carry = Effects.carry

    def carry_and_look(effects: Effects, *turn: Any) -> None:
        seen.append(looks[0]())
        carry(effects, *turn)

    def start(look: Look) -> None:
        looks.append(look)
        seen.append(look())

    monkeypatch.setattr(Effects, "carry", carry_and_look)
    run = tilesim.simulate(program, engine="compiled", on_start=start)
    layers, names = [progress.layer for progress in seen], tuple(layer.name for layer in program.layers)
    assert seen[0] == ("load", 0, None, names)
    assert {progress[:2] for progress in seen[1:]} == {("run", run.cycles)}
    assert layers == sorted(layers, key=lambda layer: -1 if layer is None else layer)
    on_tiles = {
        op.layer for op in program.run if isinstance(op, Work) and op.layer >= 0
    }  # the last is the classifier's
    assert {*layers} == {None, *on_tiles}


@COMPILED
def test_a_run_that_hangs_is_reported_as_by_simpy() -> None:
    """Programs of the corpus that lack an instruction."""
    reports: list[tuple[str, str]] = []
    for number in range(400):
        program = random_program(number)
        if uncovered(program):
            continue
        said = [_report(program, engine) for engine in ("simpy", "compiled")]
        assert said[0] == said[1]
        reports += [(said[0], said[1])] if said[0] else []
    assert reports


def _report(program: Program, engine: str) -> str:
    try:
        simulate(program, inputs_of(program), RunOptions(engine=engine))
    except RunError as error:
        return str(error)
    except InputError:
        return ""
    return ""


@pytest.mark.parametrize("name", ["edge-1x1", "fig2-5x2", "edge-4x4"])
def test_units_are_those_of_the_chip_in_its_order(name: str) -> None:
    topology = tilesim.load_topology(name)
    assert isinstance(topology, Topology)
    chip = Chip(topology, 1, None, frame.forget)
    assert [*tracks(Program("nothing", topology, load=(), run=()))] == [unit.track for unit in chip.units]

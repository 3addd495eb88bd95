"""The timing core and the chip of SimPy processes: not a cycle differs, of any unit, for any reason."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.tiled.core.sanitized import with_steps
from tests.tiled.corpus.gates import with_gates
from tests.tiled.corpus.links import with_narrow_links
from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.corpus.records import with_records
from tests.tiled.dataflow.agreement import COMPILED
from tests.tiled.stepped.test_agreement import accounts
from tilesim.errors import ProgramError
from tilesim.machines.frame import named
from tilesim.machines.holds import NO_HOLDS
from tilesim.machines.verify import COLLIDED, ENDED, event_result
from tilesim.tiled.core import timing
from tilesim.tiled.core.timing import timed
from tilesim.tiled.flat.columns import EVENTS, OF_STEPS
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.readout import Watched
from tilesim.tiled.flat.tables import tables_of
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled
from tilesim.tiled.run.event_driven import run_sections
from tilesim.tiled.run.host_driver import HostSide
from tilesim.tiled.units.chip import Chip

MODELS = ("mlperf_kws_dscnn", "mlperf_resnet8")
NUMBERS = 5400
CHANGES = (lambda bare, _: bare, with_gates, with_narrow_links, with_records)
ENDS = {ENDED: "ended", COLLIDED: "collided"}


pytestmark = COMPILED


def without_zeros(units: Mapping[str, Mapping[str, int]] | None) -> dict[str, dict[str, int]]:
    return {track: +Counter(kinds) for track, kinds in (units or {}).items()}


def compiled(network: str | Path, chip: str, partition: str = "spatial") -> Program:
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip), partition)
    assert isinstance(program, Program)
    return program


def must_agree(program: Program) -> None:
    zeros = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    run, timing = tilesim.simulate(program, zeros), timed(program)
    assert timing.outcome == "ended"
    assert (timing.cycles, timing.load_cycles) == (run.cycles, run.statistics["load_cycles"])
    assert without_zeros(timing.units) == accounts(run.statistics)


def test_whoever_looks_sees_the_cycle_that_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    program, watched = compiled("pocket", "edge-2x2"), Watched()
    whole = timed(program, watched=watched)
    assert (watched.section, watched.cycle) == ("run", whole.cycles)
    monkeypatch.setattr(timing, "LATEST", whole.start + 100)
    assert timed(program, watched=watched).outcome == "endless"
    assert 100 < watched.cycle < whole.cycles


def test_a_step_that_ends_when_nothing_can_be_noted_is_not() -> None:
    """The core itself is over by then."""
    program = next(with_steps())
    tables = tables_of(program)
    tables.steps[-1, [*OF_STEPS].index("cycles")] = 1 << 34
    assert timed(program, tables=tables).cycles > 1 << 34
    assert timed(program, tables=tables, traces=True).outcome == "endless"


CHIPS = [
    name
    for name in tilesim.list_topologies()
    if tilesim.load_topology(name).machine == "tiled" and tilesim.load_topology(name).ring.no_consumer == "stall"
]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_small_network_takes_the_same_cycles_on_every_chip(chip: str) -> None:
    must_agree(compiled("pocket", chip))


@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4"])
@pytest.mark.parametrize("model", MODELS)
def test_models_take_the_same_cycles(models: Path, model: str, chip: str) -> None:
    must_agree(compiled(models / model / "model.tflite", chip))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("chip", "partition"), [("edge-8x8", "spatial"), ("edge-4x4", "mixed")])
def test_models_take_the_same_cycles_however_they_are_spread(
    models: Path, model: str, chip: str, partition: str
) -> None:
    must_agree(compiled(models / model / "model.tflite", chip, partition))


@pytest.mark.slow
def test_mobilenet_takes_the_same_cycles(models: Path) -> None:
    must_agree(compiled(models / "coral_tf2_mnv2_ptq" / "model.tflite", "edge-4x4"))


def test_every_instruction_retires_in_the_same_cycle(models: Path) -> None:
    program = named(compiled(models / "mlperf_kws_dscnn" / "model.tflite", "edge-2x2"))
    retired: list[tuple[int, int, str]] = []
    chip = Chip(program.topology, 1, None, lambda tile, label: retired.append((chip.clock.cycle, tile, label)))
    rows = HostSide(program, [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]).rows
    _, run = run_sections(chip, program, rows, NO_HOLDS)
    labels, events = [op.label for op in (*program.load, *program.run)], timed(program).events
    assert events is not None
    ends = [(cycle + 1, tile, labels[op]) for cycle, tile, op, _, over in events.tolist() if over and tile >= 0]
    assert sorted(ends) == sorted((at - run.start, tile, label) for at, tile, label in retired if at > run.start)
    assert len(ends) == sum(op.tiles.bit_count() for op in program.run if isinstance(op, Work))


def test_each_beginning_has_its_retirement() -> None:
    events = timed(compiled("pocket", "edge-2x2")).events
    assert events is not None
    of_tiles = events[(events[:, 1] >= 0) & (events[:, 3] < len(Engine))]
    begun, over = (of_tiles[of_tiles[:, 4] == k] for k in (0, 1))
    assert Counter(map(tuple, begun[:, 1:3].tolist())) == Counter(map(tuple, over[:, 1:3].tolist()))
    began = {tuple(row[1:3]): row[0] for row in begun.tolist()}
    assert all(row[0] >= began[tuple(row[1:3])] for row in over.tolist())


def test_rises_come_in_order_between_beginning_and_retirement() -> None:
    log = timed(compiled("pocket", "edge-2x2")).run
    assert log is not None
    done: dict[tuple[int, int], int] = {}
    rises = 0
    for cycle, tile, op, _, what, iterations in log.events[log.events[:, 1] >= 0].tolist():
        assert cycle >= 0
        if EVENTS[what] == "rose":
            rises += 1
            assert iterations > done[tile, op]
            done[tile, op] = iterations
        elif EVENTS[what] == "began":
            done[tile, op] = 0
        else:
            del done[tile, op]
    assert rises
    assert not done


def tally(numbers: range) -> Counter[str]:
    """How the programs that are covered end on both, each as it is and changed; what differs, by its number."""
    found: Counter[str] = Counter()
    for number in numbers:
        bare = random_program(number)
        for program in (named(change(bare, number)) for change in CHANGES):
            if uncovered(program):
                continue
            try:
                event = event_result(Tiled(), program, inputs_of(program))
            except ProgramError:
                continue  # nothing orders two of its accesses: no program
            timing = timed(program)
            assert timing.outcome == ENDS.get(event.end, "hung"), number
            found[timing.outcome] += 1
            if timing.outcome == "ended":
                assert (timing.cycles, timing.load_cycles) == (event.cycles, event.load_cycles), number
                assert without_zeros(timing.units) == without_zeros(event.units), number
    return found


def test_random_programs_take_the_same_cycles() -> None:
    found = tally(range(NUMBERS, NUMBERS + 100))
    assert found["ended"] > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chunk", "chunks"), [(7, 8), *(pytest.param(chunk, 4, marks=pytest.mark.soak) for chunk in range(4))]
)
def test_many_random_programs_take_the_same_cycles(chunk: int, chunks: int) -> None:
    """So many that some hang, and transfers of some collide."""
    found = tally(range(chunk, NUMBERS, chunks))
    assert found["ended"] > 200
    assert set(found) == {"ended", "hung", "collided"}

"""What the core has noted of a run, as spans by track."""

import numpy as np
import pytest

import tilesim
from tests.tiled.dataflow.agreement import COMPILED
from tilesim.machines.frame import named
from tilesim.tiled.core import timing
from tilesim.tiled.core.timing import most_noted, timed
from tilesim.tiled.flat.columns import CAUSES, NOTED_CYCLE, NOTED_WORK
from tilesim.tiled.flat.rows import bus_bytes
from tilesim.tiled.flat.tables import tables_of
from tilesim.tiled.isa.model.instructions import WORD_BYTES, Infeed, Outfeed, ScalarFence
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.counted import tracks
from tilesim.tiled.run.noted import BUSY, WORK, Noted, kinds

pytestmark = COMPILED


@pytest.fixture(scope="module")
def program() -> Program:
    made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("edge-2x2"))
    assert isinstance(made, Program)
    return named(made)


@pytest.fixture(scope="module")
def found(program: Program) -> Noted:
    return Noted(program, timed(program, traces=True))


def test_without_a_trace_nothing_is_kept(program: Program) -> None:
    assert timed(program).notes is None


def test_more_numbers_than_a_note_has_room_for_are_known_before(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, notes = tables_of(program), timed(program, traces=True).notes
    assert notes is not None
    numbers = np.concatenate([*notes.of.values()]) >> NOTED_WORK & (1 << NOTED_CYCLE - NOTED_WORK) - 1
    assert len(tables.ops) <= numbers.max() <= most_noted(tables)
    bits = most_noted(tables).bit_length()
    monkeypatch.setattr(timing, "NOTED_WORK", NOTED_CYCLE - bits)
    assert timed(program, traces=True).outcome == "ended"
    monkeypatch.setattr(timing, "NOTED_WORK", NOTED_CYCLE - bits + 1)
    assert timed(program, traces=True).outcome == "endless"
    assert timed(program).outcome == "ended"


def test_what_is_kept_changes_no_cycle(program: Program) -> None:
    plain, traced = timed(program), timed(program, traces=True)
    assert (plain.cycles, plain.load_cycles, plain.start, plain.units) == (
        traced.cycles,
        traced.load_cycles,
        traced.start,
        traced.units,
    )


def test_spans_of_a_track_follow_one_another(program: Program, found: Noted) -> None:
    assert found.tracks == sorted(tracks(program))
    for track in found.tracks:
        own = found.of(track)
        assert (own.end > own.start).all()
        assert (own.start[1:] >= own.end[:-1]).all()


def test_a_tensor_control_has_no_more_work_at_last(program: Program, found: Noted) -> None:
    plain = timed(program)
    end = plain.start + plain.cycles
    resting = [track for track in found.tracks if (found.of(track).cause == WORK).any()]
    assert {*resting} == {f"chip.tile{tile}.{name}" for tile in range(4) for name in ("tensor", "mac_array")}
    for own in map(found.of, resting):
        some = own.cause == WORK
        assert {*own.end[some].tolist()} == {end}
        assert {found.works.whats[found.works.what[work]] for work in own.work[some].tolist()} == {""}


def test_the_bus_carries_all_instructions_but_the_controllers_own(program: Program, found: Noted) -> None:
    _, sizes = bus_bytes(program)
    own = [isinstance(op, Infeed | Outfeed | ScalarFence) for op in program.run]
    assert [size == 0 for size in sizes] == own
    assert all(size % WORD_BYTES == 0 for size in sizes)
    stop = found.of("chip.instruction_bus.stop0")
    busy = stop.cause == BUSY
    works = stop.work[busy].tolist()
    ops = (*program.load, *program.run)
    width_bytes = program.topology.instruction_bus.width_bytes
    cycles = (stop.end - stop.start)[busy].tolist()
    assert cycles == [-(-int(found.works.bytes[work]) // width_bytes) for work in works]
    assert [found.works.whats[found.works.what[work]] for work in works] == [ops[work].label for work in works]


def test_every_cause_has_a_kind() -> None:
    names, of_cause = kinds()
    shown = {cause: names[of_cause[k]] for k, cause in enumerate(CAUSES)}
    assert shown["busy"] == "busy"
    assert shown["credit"] == "stall:credit"
    assert shown["ring_producer_a"] == "stall:flag"
    assert len(np.unique(of_cause)) == len(names)

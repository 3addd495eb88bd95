"""Which word is in which unit when: as the second model has it; and how long words take by other distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tilesim
from tests.rotating.convolutions import Frame, convolution, input_rows, out_plain, w_of, weight_rows, x_of
from tests.rotating.programs import PROLOGUE, Bare, chip
from tests.rotating.random_programs import random_program
from tilesim.machines.motion import NONE, Motion
from tilesim.machines.options import RunOptions
from tilesim.registry import machine_of
from tilesim.report.analysis.rotation import jumps, moves
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import Mask
from tilesim.rotating.isa.model.program import Layout, Program, Stripe, TensorPlace
from tilesim.rotating.layout import rows_in_words, rows_of
from tilesim.rotating.machine import Rotating
from tilesim.rotating.run.simulate import simulate
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.trace import SPANS

Words = NDArray[Any]


def traced(program: Program, inputs: Sequence[Words] = ()) -> tuple[Run, Motion]:
    run = simulate(program, inputs, RunOptions(recording=Recording()))
    assert run.trace is not None
    return run, Rotating().motion(program, run.trace)


class Seen:
    """What a picture shows: of each clock the slot before it, and how words and weights stand in the units then."""

    def __init__(self, motion: Motion, clocks: int) -> None:
        self.motion = motion
        slots = motion.slots
        self.element = np.searchsorted(slots.cycle, np.arange(clocks), side="left") - 1
        self.element[: int(slots.cycle[0]) + 1 if slots.cycle.size else clocks] = NONE
        after = np.arange(clocks) - slots.cycle[self.element] - 1
        self.repetition = np.minimum(after, slots.slots[self.element] - 1)
        self.is_active = (self.element >= 0) & (after < slots.slots[self.element])

    def origins(self, clock: int) -> NDArray[np.int64]:
        """Of each unit, which word of its row it has."""
        k, motion = self.element[clock], self.motion
        op = motion.ops[motion.slots.op[k]]
        moved = int(motion.slots.moved[k]) + int(self.repetition[clock]) * op.rotate
        origins = np.empty(motion.units, np.int64)
        for ring in motion.rings:
            origins[ring] = np.roll(ring, moved)
        return origins

    def row(self, clock: int) -> int:
        return int(self.motion.slots.row[self.element[clock]])

    def weights(self, clock: int) -> int:
        """The place of the weights in the table, below 0 if that is not known."""
        k, slots = self.element[clock], self.motion.slots
        step = self.motion.ops[slots.op[k]].weight_step
        return int(slots.weight[k] + slots.weight_shift[k] + step * self.repetition[clock])


def words_of_inputs(program: Program, inputs: Sequence[Words]) -> dict[tuple[str, int], Words]:
    """The words of an input's rows by its name and the line."""
    words = {}
    for tensor, values in zip(program.inputs, inputs, strict=True):
        layout = tensor.layout
        shaped = np.asarray(values).reshape(1, layout.height, layout.width, layout.depth)
        for line, row in enumerate(rows_in_words(rows_of(shaped, layout, program.topology)[0], program.topology)):
            words[tensor.name, line] = row.astype(np.int64)
    return words


@pytest.mark.parametrize("seed", range(25))
def test_words_are_where_the_second_model_has_them(seed: int) -> None:
    program, inputs = random_program(seed)
    run, motion = traced(program, inputs)
    registers = stepped.simulate(program, inputs, observes=True).registers
    assert len(registers) == run.cycles
    seen, mask = Seen(motion, run.cycles), (1 << program.topology.units.word_bits) - 1
    known, rows = words_of_inputs(program, inputs), motion.rows
    learnt: dict[int, Words] = {}
    for clock, (mux, _) in enumerate(registers):
        if seen.element[clock] == NONE or seen.row(clock) == NONE:
            assert not mux.any()
            continue
        row, origins = seen.row(clock), seen.origins(clock)
        words = np.empty_like(mux)
        words[origins] = mux & mask
        name = rows.names[rows.name[row]], int(rows.line[row])
        expected = known[name] & mask if name in known else learnt.setdefault(row, words)
        assert words.tolist() == expected.tolist()


def readable(order: str = "claimed", units: int = 8, **keys: Any) -> tuple[Program, Bare]:
    """3 x 3 x 2, two filters of 2 x 2; the map has a name."""
    topology = chip(units, **keys)
    frame = Frame(topology, 4, [[0, 1]], [[0, 1]], 2, order=order, outside=15)
    w = w_of(2, 2, 2, 2)
    mask = Mask(offset=frame.out_offset(2), block=4, count=2, blocks=2)
    bare = Bare(
        topology,
        convolution(frame, w, 3, 2, out_plain(3, 2)),
        input_rows(frame, x_of(3, 3, 2)),
        weight_rows(frame, w, 2),
        mask,
    )
    layout = Layout(3, 3, 2, (Stripe(0, 3, 4, 0, ((0, 1),)),))
    place = TensorPlace(0, "x", 0, 0, layout, (1, 3, 3, 2), (0, 1, 2, 3), "int8")
    return replace(bare.program(), tensors=(place,)), bare


def test_words_weights_and_masks_of_the_program_to_read() -> None:
    program, bare = readable()
    run, motion = traced(program)
    registers = stepped.simulate(program, (), observes=True).registers
    seen, x = Seen(motion, run.cycles), x_of(3, 3, 2)
    active = [clock for clock in range(PROLOGUE + 1, run.cycles) if seen.is_active[clock]]
    assert len(active) == 34
    multiplied = 0
    for clock in active:
        row, origins = seen.row(clock), seen.origins(clock)
        words = motion.rows.values[motion.rows.value[row]][origins]
        assert (words & 255).tolist() == registers[clock][0].tolist()
        channel, column = (array[motion.rows.map[row]][origins] for array in (motion.rows.channel, motion.rows.column))
        line = int(motion.rows.line[row])
        assert [x[line, x_, c] for x_, c in zip(column, channel, strict=True) if c != NONE] == [
            word for word, c in zip(words, channel, strict=True) if c != NONE
        ]
        op = motion.ops[motion.slots.op[seen.element[clock]]]
        multiplied += op.work == "multiply_add"
        if op.brings_weights:
            weight = int(motion.slots.weight[seen.element[clock]] + seen.repetition[clock] * op.weight_step)
            assert motion.weights[seen.weights(clock)].tolist() == bare.weights[weight].tolist()
    assert multiplied == 16
    [mask] = {int(motion.slots.mask[seen.element[clock]]) for clock in active if clock != active[-1]}
    assert np.flatnonzero(motion.masks[mask]).tolist() == [1, 2, 5, 6]
    assert motion.mask_frames[mask].tolist() == [1, 4, 2]


def test_without_a_trace_slots_are_counted() -> None:
    program, _ = readable()
    run, motion = traced(program)
    untimed = Rotating().motion(program, None)
    assert (motion.is_timed, untimed.is_timed) == (True, False)
    assert untimed.slots.cycle[0] == 0
    assert int(untimed.slots.slots.sum()) == int(motion.slots.slots.sum()) == PROLOGUE + 34
    assert run.cycles == PROLOGUE + 37


def test_of_a_run_that_ended_early_it_has_what_was_issued() -> None:
    program, _ = readable()
    run, motion = traced(program)
    trace = run.trace
    assert trace is not None
    kept = trace.start_cycle - trace.start < 30
    columns = {name: getattr(trace, name)[kept] for name in SPANS}
    early = Rotating().motion(program, replace(trace, **columns)).slots
    assert early.cycle.tolist() == motion.slots.cycle[: early.cycle.size].tolist()
    assert int(early.cycle[-1] + early.slots[-1]) <= 30 < int(motion.slots.cycle[early.cycle.size]) + 2
    none = Rotating().motion(program, replace(trace, **{name: column[:0] for name, column in columns.items()}))
    assert none.slots.cycle.size == 0


def test_the_registry_knows_who_moves_words() -> None:
    assert isinstance(machine_of(chip(8)), Rotating)


DISTANCES = ("1", "1 4", "1 8", "1 4 16", "1-64")


def wide(distances: str, dilation: int = 1) -> Program:
    """A convolution on 128 units, which takes only the slots that it needs."""
    topology = chip(128, rotation={"distances": distances})
    channels = [[*range(8)]]
    frame = Frame(topology, 16, channels, channels, 8, dilation=dilation, order="trimmed", outside=60)
    w = w_of(8, 3, 3, 8)
    height, width = 6 - 2 * dilation, 12 - 2 * dilation
    ops = convolution(frame, w, 6, height, out_plain(8, height))
    return Bare(topology, ops, input_rows(frame, x_of(6, 12, 8)), weight_rows(frame, w, width)).program()


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("own", DISTANCES)
def test_the_closed_form_is_what_the_program_for_other_distances_takes(own: str, dilation: int) -> None:
    run, motion = traced(wide(own, dilation))
    found = {jump.words: run.cycles + jump.more for jump in jumps(motion, 0)}
    assert found == {other: simulate(wide(other, dilation), ()).cycles for other in DISTANCES}
    assert [jump.words for jump in jumps(motion, 0) if jump.is_own] == [own]


def compiled(distances: str) -> tuple[int, Program, Motion]:
    """Slots, program and motion of a network on 1024 units."""
    topology = tilesim.load_topology("nnu-1024", overrides={"rotation.distances": distances})
    program = tilesim.compile(tilesim.load_network("example-conv"), topology)
    run = tilesim.simulate(program, trace=True)
    [array] = [unit for unit in run.statistics["units"] if unit["track"] == "nnu.array"]
    assert isinstance(program, Program)
    return array["busy_cycles"], program, Rotating().motion(program, run.trace)


def test_the_closed_form_counts_the_slots_of_compiled_networks() -> None:
    slots, program, motion = compiled("1")
    found = {jump.words: slots + jump.more for jump in jumps(motion, len(program.layers))}
    assert found == {other: compiled(other)[0] for other in DISTANCES}
    for jump in jumps(motion, len(program.layers)):
        assert sum(jump.of_layers) == jump.more


def test_fewest_moves() -> None:
    assert moves((1, 8), 12)[12] == 5
    assert moves((1, 4, 8), 12)[12] == 2
    assert moves(range(1, 65), 100)[100] == 2
    assert moves((1,), 7).tolist() == [*range(8)]


def test_what_stands_in_rows_of_a_compiled_network_is_its_tensors() -> None:
    """Every word that a unit works with for an output is one of a tensor, or next to one."""
    _, program, motion = compiled("1")
    rows = motion.rows
    names = {tensor.name for tensor in program.inputs} | {place.name for place in program.tensors}
    works = np.array([op.work == "multiply_add" for op in motion.ops])[motion.slots.op]
    worked = np.unique(motion.slots.row[works])
    assert worked.min() >= 0
    assert {rows.names[rows.name[row]] for row in worked if rows.map[row] >= 0} <= names
    assert (rows.map[worked] >= 0).mean() > 0.9


@pytest.mark.parametrize("shape", ["rows", "half_rows"])
def test_weights_are_those_that_the_registers_get(shape: str) -> None:
    """Of random programs: known ones are the words of the row that the step names."""
    for seed in range(40):
        program, inputs = random_program(seed)
        if program.topology.weight_ram.shape != shape:
            continue
        _, motion = traced(program, inputs)
        words = rows_in_words(program.data[0].data.reshape(-1, program.topology.row_bytes), program.topology)
        slots = motion.slots
        brings = np.array([op.brings_weights for op in motion.ops])[slots.op]
        for weight, shift in zip(slots.weight[brings], slots.weight_shift[brings], strict=True):
            if not 0 <= weight < 8:
                continue
            row, half = divmod(int(weight), 2) if shape == "half_rows" else (int(weight), 0)
            parts = np.split(words[row], 2 if shape == "half_rows" else 1)
            assert motion.weights[weight + shift].tolist() == np.tile(parts[half], len(parts)).tolist()

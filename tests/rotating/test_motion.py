"""Which word is in which unit when: as the second model has it; and how long words take by other distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.rotating.convolutions import Frame, convolution, input_rows, out_plain, w_of, weight_rows, x_of
from tests.rotating.programs import PROLOGUE, Bare, chip
from tests.rotating.random_programs import random_program
from tilesim.machines.motion import NONE, Motion
from tilesim.machines.options import RunOptions
from tilesim.registry import machine_of
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import Mask
from tilesim.rotating.isa.model.program import Layout, Program, Stripe, TensorPlace
from tilesim.rotating.layout import rows_in_words, rows_of
from tilesim.rotating.machine import Rotating
from tilesim.rotating.run.simulate import simulate
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording

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


def test_the_registry_knows_who_moves_words() -> None:
    assert isinstance(machine_of(chip(8)), Rotating)

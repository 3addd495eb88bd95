"""Whole runs of programs written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.systolic.handmade import Listing, dense, product, some, topology, tpu
from tilesim import simulate
from tilesim.errors import InputError
from tilesim.run import Look
from tilesim.sim.trace.recorder import Recording
from tilesim.systolic.isa.model.program import Program


@pytest.mark.parametrize(("inputs", "outputs", "batch"), [(4, 4, 3), (9, 6, 5), (3, 11, 1), (300, 5, 2)])
def test_a_layer_larger_than_the_array_is_cut_and_added_up(inputs: int, outputs: int, batch: int) -> None:
    x, w = some((batch, inputs)), some((inputs, outputs), seed=1)
    run = simulate(dense(topology(), w, batch), [x])
    np.testing.assert_array_equal(run.outputs[0], product(x, w))


def test_300_inputs_on_256_rows_are_256_and_44() -> None:  # oracle 30
    x, w = some((3, 300)), some((300, 7), seed=1)
    program = dense(tpu(), w, 3)
    assert [getattr(op, "rows", 0) for op in program.run if op.mnemonic == "matrix_multiply"] == [256, 44]
    np.testing.assert_array_equal(simulate(program, [x]).outputs[0], product(x, w))


def test_other_rules_are_refused() -> None:
    with pytest.raises(InputError, match="rules must be strict or observe, not 'loose'"):
        simulate(dense(topology(), some((4, 4)), 1), [some((1, 4))], rules="loose")


def test_an_instruction_can_be_held() -> None:
    program, x = dense(topology(), some((4, 4)), 1), some((1, 4))
    plain, held = simulate(program, [x]), simulate(program, [x], holds={"vector.1": 100}, trace=True)
    vector = next(unit for unit in held.statistics["units"] if unit["track"] == "chip.vector")
    assert held.cycles > 100 > plain.cycles
    assert vector["stall_cycles"]["hold"] > 50
    np.testing.assert_array_equal(plain.outputs[0], held.outputs[0])


def test_holds_must_name_instructions_that_a_unit_takes_up() -> None:
    program = dense(topology(), some((4, 4)), 1)
    with pytest.raises(InputError) as found:
        simulate(program, [some((1, 4))], holds={"vector": 1, "halt": 2, "matrix.1": -3})
    assert found.value.faults == (
        "hold must be the label of an instruction, not 'vector'; did you mean 'vector.0' or 'vector.1'?",
        "hold 'halt': must be an instruction that a unit takes up, not a halt",
        f"hold 'matrix.1': must be up to a cycle from 0 to {1 << 40}, not -3",
    )


def test_a_look_tells_how_far_it_is() -> None:
    looks: list[Look] = []
    simulate(dense(topology(), some((4, 4)), 1), [some((1, 4))], on_start=looks.append)
    section, cycle, layer, names = looks[0]()
    assert (section, layer, names) == ("run", None, ("dense",))
    assert cycle > 10


def test_labels_are_made_up_where_there_are_none() -> None:
    program = dense(topology(), some((4, 4)), 1)
    bare = replace(program, run=tuple(replace(op, label="") for op in program.run))
    run = simulate(bare, [some((1, 4))], trace=True)
    assert run.trace is not None
    assert "run[0]" in run.trace.whats


def test_what_is_recorded_can_be_bounded() -> None:
    program, x = dense(topology(), some((4, 8)), 1), some((1, 4))
    run = simulate(program, [x], trace=Recording(range(5, 20), ("chip.matrix", "chip.vector")))
    assert run.trace is not None
    assert set(run.trace.tracks) == {"chip.matrix", "chip.vector"}
    assert run.trace.start_cycle.min() >= 5 + run.trace.start


def test_tracks_that_the_chip_does_not_have_are_refused() -> None:
    program, x = dense(topology(), some((4, 4)), 1), some((1, 4))
    with pytest.raises(InputError) as found:
        simulate(program, [x], trace=Recording(None, ("chip.matrx", "chip.host.*", "tile*")))
    each = "tracks to trace: each must be a unit or link of handmade, or a pattern of such, not"
    slip, none = found.value.faults
    assert slip == f"{each} 'chip.matrx'; did you mean 'chip.matrix'?"
    assert none.startswith(f"{each} 'tile*' (one of chip.dma_in, ")


def test_loading_is_counted_by_itself() -> None:
    run = simulate(dense(topology(), some((4, 4)), 1), [some((1, 4))])
    assert run.statistics["load_cycles"] == 2 + 16 // 4 + 48 // 4
    assert run.statistics["cycles"] == run.cycles


def test_a_program_may_do_nothing() -> None:
    listing = Listing()
    run = simulate(Program("idle", topology(), (), listing.halt()), [])
    assert run.cycles == 2  # the halt's bytes, and its way through the sequencer
    assert run.statistics["breakdown"] == {"other": 2}

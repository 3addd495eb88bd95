"""A run that can't go on says who waits for what, and which instruction was to end that wait."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from tests.systolic.handmade import Listing, dense, multiply, product, some, topology
from tilesim.errors import AccessError, HangError, ProgramError, TilesimError
from tilesim.systolic.isa.model.instructions import Fill, Instruction, Nest, Queue, ReadWeights, Sync, WriteHostMemory
from tilesim.systolic.isa.model.program import HostTensor, Program
from tilesim.systolic.run import simulate as module
from tilesim.systolic.run.simulate import simulate
from tilesim.systolic.topology import Topology


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what the checks would refuse."""
    monkeypatch.setattr(module, "faults", lambda _program: [])


def report(ops: Iterable[Instruction], chip: Topology | None = None, halt: bool = True) -> str:
    listing = Listing()
    for op in ops:
        listing.add(op)
    if halt:
        listing.halt()
    with pytest.raises(HangError) as found:
        simulate(Program("hangs", chip or topology(), (), tuple(listing.ops)), [])
    assert found.value.exit_status == 3
    assert found.value.section == "run"
    return str(found.value)


def test_a_program_without_a_halt() -> None:
    text = report([Fill(destination=Nest(0, 4), value=1)], halt=False)
    assert text == "the run program hangs after 5 cycles:\nthe program has no halt"


@pytest.mark.usefixtures("unchecked")
def test_a_sync_on_a_count_that_is_never_reached() -> None:
    text = report([Fill(destination=Nest(0, 4), value=1), Sync(unit=Queue.MATRIX, until=Queue.VECTOR, count=2)])
    so_far = "to retire 2 instructions; so far it has retired 1"
    assert text.splitlines()[1:] == [
        "chip.sequencer in halt has waited since cycle 4 for all units to retire everything; 1 are left",
        f"chip.matrix in matrix.0 has waited since cycle 3 for the vector unit {so_far}",
        (
            "matrix.0 (sync) waits for the vector unit to retire 2 instructions; it can retire 1, and the program has "
            "1 for it"
        ),
    ]


@pytest.mark.usefixtures("unchecked")
def test_a_switch_without_weights() -> None:
    text = report([ReadWeights(), multiply(switch=True), multiply(switch=True)])
    assert "chip.matrix in matrix.1 has waited since cycle 11 for tile 2 in the weight path" in text
    assert text.endswith("matrix.1 (matrix_multiply) waits for tile 2 of the section, and nothing fetches it")


@pytest.mark.usefixtures("unchecked")
def test_syncs_that_wait_for_each_other() -> None:
    syncs = [Sync(unit=a, until=b, count=1) for a, b in ((Queue.MATRIX, Queue.VECTOR), (Queue.VECTOR, Queue.MATRIX))]
    text = report(syncs)
    matrix, vector = "matrix.0 (sync)", "vector.0 (sync)"
    assert text.splitlines()[-1] == (
        f"these wait in a circle: {matrix} waits for the vector unit to retire 1 instruction; it can retire 0, and "
        f"{vector} is to be the last of them; {vector} waits for the matrix unit to retire 1 instruction; it can "
        f"retire 0, and {matrix} is to be the last of them"
    )


@pytest.mark.usefixtures("unchecked")
def test_more_tiles_than_are_taken() -> None:
    text = report([ReadWeights(tiles=7), multiply(switch=True)])
    assert "chip.weight_fetcher in weight_fetcher.0 has waited" in text
    assert "for a place in the weight FIFO for tile 7" in text
    assert text.endswith(
        "weight_fetcher.0 (read_weights) waits for a place for tile 7 of the section in the weight FIFO, which holds "
        "4; 1 are taken, and the section switches to 1"
    )


@pytest.mark.usefixtures("unchecked")
def test_weights_that_are_stuck_behind_a_full_queue() -> None:
    chip = topology(sequencer={"queue_depth": 1})
    text = report([multiply(switch=True), multiply(), multiply(), ReadWeights()], chip)
    assert "chip.sequencer in matrix.2 has waited since cycle 4 for a place in the queue of the matrix unit" in text
    assert text.endswith(
        "these wait in a circle: matrix.0 (matrix_multiply) waits for tile 1 of the section, and weight_fetcher.0 "
        "(read_weights), which is not issued behind the full queue of the matrix unit, is to fetch it"
    )


@pytest.mark.usefixtures("unchecked")
def test_what_is_in_a_queue_and_what_is_in_hand() -> None:
    waits = Sync(unit=Queue.DMA_OUT, until=Queue.VECTOR, count=2)
    stuck = Sync(unit=Queue.VECTOR, until=Queue.MATRIX, count=1)
    text = report([waits, stuck, Fill(destination=Nest(0, 1), value=1), multiply(switch=True)])
    assert text.splitlines()[-1] == "matrix.0 (matrix_multiply) waits for tile 1 of the section, and nothing fetches it"


@pytest.mark.usefixtures("unchecked")
def test_an_address_that_there_is_not() -> None:
    listing = Listing()
    listing.add(Fill(destination=Nest((1 << 20) - 3, 4), value=1))
    with pytest.raises(AccessError, match=r"unified_buffer has bytes 0 to 1048575, not 1048573 to 1048576"):
        simulate(Program("outside", topology(), (), listing.halt()), [])


def test_an_output_that_the_host_has_not_got() -> None:
    listing = Listing()
    listing.add(WriteHostMemory(bytes=5))
    program = Program(
        "short", topology(), (), listing.halt(), outputs=(HostTensor("y", 0, "int8", (7,), (0,), "int8"),)
    )
    with pytest.raises(HangError, match=r"the host has received 5 of the 7 bytes of output y"):
        simulate(program, [])


def test_no_instruction_can_be_left_out() -> None:
    """Of a small complete program: what comes out changes, or the checks or the run say what is missing; a sync that
    is left out may do no harm by chance, but shows as a race or in the cycles.
    """
    x, w = some((3, 7), low=1), some((7, 9), low=1, seed=1)
    program = dense(topology(), w, 3)
    whole = simulate(program, [x])
    np.testing.assert_array_equal(whole.outputs[0], product(x, w))
    places = [(section, k) for section in ("load", "run") for k in range(len(getattr(program, section)))]
    outcomes = {getattr(program, section)[k].label: _without(program, section, k, x) for section, k in places}
    assert [label for label, outcome in outcomes.items() if not outcome] == []
    assert {re.sub(r"\d", "", outcome) for outcome in outcomes.values()} == {"refused", "hangs", "another output"}


def _without(program: Program, section: str, place: int, x: np.ndarray) -> str:
    ops = getattr(program, section)
    left = replace(program, **{section: ops[:place] + ops[place + 1 :]})
    try:
        run = simulate(left, [x])
    except ProgramError:
        return "refused"
    except TilesimError:
        return "hangs"
    same = np.array_equal(run.outputs[0], simulate(program, [x]).outputs[0])
    return "" if same else "another output"

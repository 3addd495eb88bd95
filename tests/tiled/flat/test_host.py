"""What goes over the host's links, as the tables have it."""

from math import ceil

import numpy as np
import pytest

import tilesim
from tilesim.machines.frame import named
from tilesim.tiled.flat.host import Outgoing, Sent, owed, sent
from tilesim.tiled.isa.model.instructions import Infeed, Outfeed, program_bytes
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.host.sendings import PROGRAM, REQUEST


def made(**keys: object) -> Program:
    topology = tilesim.load_topology("edge-2x2", {f"host.{key}": value for key, value in keys.items()})
    program = tilesim.compile(tilesim.load_network("digits"), topology)
    assert isinstance(program, Program)
    return named(program)


def test_rows_come_in_the_order_of_the_infeeds_that_take_them() -> None:
    program = made()
    rows = [*sent(program, program.run)]
    row_bytes = program.topology.wide_memory.row_bytes
    assert {(each.size_bytes, each.is_row, each.pause_cycles) for each in rows} == {(row_bytes, True, 0)}
    takers = [op for op in program.run if isinstance(op, Infeed) and op.source == "host"]
    assert [(each.layer, each.label) for each in rows] == [
        (op.layer, op.label) for op in takers for _ in range(op.total_rows)
    ]
    assert [*sent(program, program.load)] == []


def test_a_request_comes_before_its_rows() -> None:
    program = made(request_ns=1001, sends_instructions=True)
    pause = ceil(1001 * program.topology.clock_hz / 10**9)
    instructions = program_bytes(program.run)
    for section, count in ((program.run, instructions), (program.load, program_bytes(program.load))):
        first = [Sent(-1, 0, False, pause, REQUEST), Sent(-1, count, False, label=PROGRAM)]
        assert [*sent(program, section)][:2] == (first if section else [])


def test_parameters_come_where_the_program_takes_them() -> None:
    program = made(sends_parameters=True)
    stored = sum(op.total_rows for op in program.load if isinstance(op, Infeed) and op.source == "data")
    assert stored
    assert len([*sent(program, program.load)]) == stored


def test_pads_stay_behind() -> None:
    whole, bare = (made(sends_padding=pads) for pads in (True, False))
    for program, sizes in ((whole, {whole.topology.wide_memory.row_bytes}), (bare, None)):
        [tensor] = program.outputs
        outgoing = Outgoing(program)
        found = [size for op in program.run if isinstance(op, Outfeed) for size in outgoing.sizes(op)]
        assert len(found) == tensor.rows
        assert sum(found) == (tensor.rows * min(sizes) if sizes else np.prod(tensor.extent) * tensor.carried.itemsize)


@pytest.mark.parametrize(("size_bytes", "rate", "cycles"), [(256, 0, 32), (257, 0, 33), (256, 500_000_000, 256)])
def test_what_bytes_owe_is_paid_in_their_cycles(size_bytes: int, rate: int, cycles: int) -> None:
    assert owed(size_bytes, rate, made().topology) / (rate or 1) == cycles

"""What a compiled program would gain on a chip with one buffer for both ring roles, if it left out waits: nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tilesim.shipped import shipped
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import RingProduce
from tilesim.tiled.isa.model.program import Program


def compiled(queue: str) -> Program:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2", {"ring.queue": queue}))
    assert isinstance(program, Program)
    return program


def lighter(program: Program) -> tuple[Program, int]:
    """Without the turns that its check proves without them; how many."""
    left_out = 0
    for place, op in enumerate(program.run):
        if isinstance(op, RingProduce) and any(watcher.flag is Flag.RING_PRODUCER_A for watcher in op.wait):
            waits = tuple(watcher for watcher in op.wait if watcher.flag is not Flag.RING_PRODUCER_A)
            run = (*program.run[:place], replace(op, wait=waits), *program.run[place + 1 :])
            without = replace(program, run=run)
            if tilesim.check(without).proven:
                program, left_out = without, left_out + 1
    return program, left_out


@pytest.mark.parametrize("queue", ["split", "shared"])
def test_turns_that_follow_from_the_rest_take_no_time(queue: str) -> None:
    """Who takes the rows of the master before it sends after it: a turn that is met is no wait."""
    program = compiled(queue)
    without, left_out = lighter(program)
    inputs = [np.load(shipped("workloads") / "digits.npz")["in0"][:1]]
    assert tilesim.simulate(without, inputs).cycles == tilesim.simulate(program, inputs).cycles
    assert left_out > 0

"""Rows that the host makes: when its steps are done, and what must have been sent before."""

from collections import defaultdict

import numpy as np
import pytest

import tilesim
from tests.tiled.dataflow.agreement import COMPILED, inputs_for
from tests.tiled.hosted import hosted
from tilesim.machines.frame import named
from tilesim.tiled.core.timing import timed
from tilesim.tiled.dataflow.carry_out import carried_out
from tilesim.tiled.dataflow.host import HostRows
from tilesim.tiled.dataflow.ring import RingRows
from tilesim.tiled.dataflow.senders import Senders
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.core import library, products
from tilesim.tiled.run.host_driver import HostSide
from tilesim.tiled.units.host.sendings import MadeRow
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.ttu import TraversalForm


@pytest.fixture(scope="module")
def program() -> Program:
    made = tilesim.compile(hosted("middle")[0], tilesim.load_topology("edge-2x2"))
    assert isinstance(made, Program)
    return named(made)


def made_by_host(program: Program, timing: Timing, host: HostSide) -> dict[int, int]:
    """The instructions that take rows that the host makes, and the first of these rows."""
    assert timing.run is not None
    assert timing.transfers is not None
    ops, row, starts = (*program.load, *program.run), 0, {}
    for place, op in enumerate(ops):
        if getattr(op, "source", "") == "host":
            starts[place], row = row, row + op.total_rows  # type: ignore[union-attr]
    taken = {}
    for _, taker, _, transfer, first, _ in timing.run.deliveries.tolist():
        start = starts.get(int(timing.transfers[transfer, 0]))
        if start is not None and isinstance(host.rows[start + first], MadeRow):
            taken[taker] = start + first
    return taken


def sent_to_sink(program: Program, timing: Timing) -> dict[int, set[tuple[int, int, int]]]:
    """By the outfeed which instructions have sent what reaches it, on which tile, and how many rows."""
    assert timing.run is not None
    assert timing.transfers is not None
    sent: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    for node, taker, _, transfer, first, count in timing.run.deliveries.tolist():
        place, tile = timing.transfers[transfer, [0, 5]].tolist()
        if node == program.topology.tiles + 2 and tile >= 0:
            sent[taker].add((place, tile, first + count))
    return sent


@COMPILED
def test_who_takes_what_the_host_makes_needs_all_of_what_that_is_made_of(program: Program) -> None:
    host, timing = HostSide(program, inputs_for(program)), timed(program)
    ring = carried_out(program, timing, host, Decoder(TraversalForm(program.topology.tile)), products(library()))
    assert isinstance(ring, RingRows)
    rows = np.pad(ring.senders(), ((0, 0), (0, 2)), constant_values=1)
    takers, senders = made_by_host(program, timing, host), Senders(rows, program.topology.tiles)
    assert len(takers) > 1
    outputs = sent_to_sink(program, timing)
    for taker in takers:
        tiles = {*senders.rows[senders.rows[:, 0] == taker, 1].tolist()}
        assert tiles
        for tile in tiles:
            own = {tuple(row) for row in senders.needs_of(taker, tile, 1)}
            assert own == {row for output in outputs.values() if output & own for row in output}


def test_a_step_is_done_when_somebody_asks_for_its_rows(program: Program) -> None:
    host = HostSide(program, inputs_for(program))
    tasks = host.tasks(lambda: pytest.fail("nothing has come yet"))
    rows = HostRows(host.rows, zip(program.steps, tasks, strict=True), program.topology.wide_memory.row_bytes)
    made = [k for k, row in enumerate(host.rows) if isinstance(row, MadeRow)]
    plain = [k for k, row in enumerate(host.rows) if not isinstance(row, MadeRow)]
    assert rows.are_made
    assert rows.between(plain[0], plain[0] + 1).shape[1] == 1
    assert rows.awaited(plain[0], plain[0] + 1) == ()
    assert len(rows.awaited(made[0], made[0] + 1)) == 1
    with pytest.raises(pytest.fail.Exception, match="nothing has come yet"):
        rows.between(made[0], made[0] + 1)

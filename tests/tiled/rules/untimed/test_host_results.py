"""Which rows the host sends only once it has results."""

from __future__ import annotations

import tilesim
from tests.tiled.hosted import hosted
from tilesim.tiled.isa.model.instructions import Outfeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.untimed.host_results import waiting_rows
from tilesim.tiled.rules.untimed.work_queues import RESULTS, work_queues


def compiled(name: str) -> Program:
    return tilesim.compile(hosted(name)[0], tilesim.load_topology("edge-1x1"))


def test_rows_wait_for_all_that_the_outfeed_takes_before() -> None:
    """The first of each given tensor; steps are done in order, so a later one waits for what those before wait for."""
    program = compiled("middle")
    taken = [op.rows for op in program.run if isinstance(op, Outfeed)]
    [own] = [tensor.rows for tensor in program.inputs]
    first, second = program.given
    assert [*waiting_rows(program)] == [(own, taken[0]), (own + first.rows, sum(taken[:3]))]
    assert second.rows


def test_what_is_made_of_inputs_waits_for_nothing() -> None:
    assert not [*waiting_rows(compiled("head"))]
    assert not [*waiting_rows(tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1")))]


def test_conditions_stand_in_the_queues() -> None:
    work = work_queues(compiled("middle"))
    waits = [(item.name, condition) for queue in work.queues for item in queue for condition in item.conditions]
    held = [(name, expected) for name, (row, count, expected) in waits if count == RESULTS and not row]
    assert [name.partition(".")[0] for name, _ in held] == ["input4", "input12"]
    assert all(item.raises == RESULTS for queue in work.queues for item in queue if isinstance(item.op, Outfeed))

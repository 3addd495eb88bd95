"""A retirement at another place in the core's log: outputs change, or are refused, where somebody depends on it; where
nobody does, they stay.

Not every move across a dependent one shows: what comes too late or too early may be the same bytes, or lose itself
in rounding and clamping on the way to the outputs. How many do is counted, and the tests ask for as many.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

import tilesim
from tests.tiled.dataflow.agreement import COMPILED, inputs_for
from tilesim.machines.frame import named
from tilesim.tiled.core.timing import timed
from tilesim.tiled.dataflow.carry_out import carried_out
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.order import Refused
from tilesim.tiled.flat.columns import EVENTS
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.core import library, products
from tilesim.tiled.run.host_driver import HostSide
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.ttu import TraversalForm

pytestmark = COMPILED
SAMPLES = 16
"""Inputs at once: what is lost in one of them may show in another."""
INSIDE = (Engine.TENSOR, Engine.NARROW_TO_WIDE, Engine.WIDE_TO_NARROW)
RETIRED = EVENTS.index("retired")
Move = tuple[int, int]
"""Rows of the log: of two retirements on a tile, the earlier one first."""


class Log:
    """A program's run as the core tells it, and what comes out when something in it is moved."""

    def __init__(self, network: str | Path, chip: str) -> None:
        program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip), "mixed")
        assert isinstance(program, Program)
        self._program = named(program)
        self._host = HostSide(program, inputs_for(program, SAMPLES))
        self._decoder = Decoder(TraversalForm(program.topology.tile))
        self._meetings = Meetings(self._program)
        self._timing = timed(self._program)
        assert self._timing.run is not None
        self._events = self._timing.run.events
        self._right = self._outputs(self._events)

    def dependent(self) -> Iterator[Move]:
        """Each retirement on a tile, and the next one there that touches its bytes, one of the two writing them."""
        for rows in self._by_tile():
            for k, first in enumerate(rows):
                yield from [(first, other) for other in rows[k + 1 :] if self._clash(first, other)][:1]

    def independent(self) -> Iterator[Move]:
        """A tensorop or copy that retires, and somebody elsewhere within a cycle, when nobody on its tile who touches
        its bytes does anything.
        """
        events = self._events
        for first in (row for rows in self._by_tile() for row in rows if self._engine(row) in INSIDE):
            soon = (events[:, 0] >= events[first, 0]) & (events[:, 0] <= events[first, 0] + 2) & (events[:, 1] >= 0)
            beside = np.flatnonzero(soon & (events[:, 1] == events[first, 1]) & (events[:, 3] < len(Engine)))
            if not any(self._clash(first, row) for row in beside.tolist()):
                late = events[:, 0] <= events[first, 0] + 1
                elsewhere = soon & late & (events[:, 1] != events[first, 1]) & (events[:, 4] == RETIRED)
                yield from [(first, other) for other in np.flatnonzero(elsewhere).tolist()][-1:]

    def late(self, move: Move) -> str:
        """What comes of it if the first retires one cycle after the other."""
        events = self._events.copy()
        events[move[0], 0] = events[move[1], 0] + 1
        return self._said(events)

    def early(self, move: Move) -> str:
        """What comes of it if the other begins and retires one cycle before the first retires, if not sooner."""
        events = self._events.copy()
        own = (events[:, 1:4] == events[move[1], 1:4]).all(axis=1)
        events[own, 0] = np.minimum(events[own, 0], events[move[0], 0] - 1)
        return self._said(events)

    def _by_tile(self) -> Iterator[list[int]]:
        events = self._events
        retired = (events[:, 1] >= 0) & (events[:, 3] < len(Engine)) & (events[:, 4] == RETIRED)
        for tile in range(self._program.topology.tiles):
            rows = np.flatnonzero(retired & (events[:, 1] == tile))
            yield rows[np.argsort(events[rows, 0], kind="stable")].tolist()

    def _clash(self, first: int, other: int) -> bool:
        one, two = (int(self._events[row, 2]) for row in (first, other))
        return one != two and self._meetings.clash(one, two)

    def _engine(self, row: int) -> str:
        return [*Engine][int(self._events[row, 3])]

    def _said(self, events: Numbers) -> str:
        try:
            outputs = self._outputs(events)
        except Refused:
            return "refused"
        same = all(np.array_equal(one, other) for one, other in zip(outputs, self._right, strict=True))
        return "same" if same else "changed"

    def _outputs(self, events: Numbers) -> list[NDArray[Any]]:
        assert self._timing.run is not None
        timing = replace(self._timing, run=replace(self._timing.run, events=events))
        return self._host.outputs(carried_out(self._program, timing, self._host, self._decoder, products(library())))


def tally(log: Log, count: int) -> Counter[str]:
    """What comes of so many moves that are drawn, late and early ones in turn."""
    random = Random(count)  # noqa: S311
    moves = random.sample([*log.dependent()], count)
    return Counter(log.late(move) if k % 2 else log.early(move) for k, move in enumerate(moves))


@pytest.fixture(scope="module")
def digits() -> Log:
    return Log("digits", "edge-2x2")


def test_a_retirement_across_one_that_depends_on_it_is_seen(digits: Log) -> None:
    """38 of these 40 are."""
    found = tally(digits, 40)
    assert found["changed"] + found["refused"] >= 36


@pytest.mark.parametrize(("chip", "least"), [("edge-2x2", 4), ("edge-4x4", 6)])
def test_a_retirement_across_one_that_does_not_changes_nothing(chip: str, least: int) -> None:
    log = Log("digits", chip)
    moves = [*log.independent()]
    assert len(moves) >= least, "few instructions end together"
    assert {log.late(move) for move in moves} == {"same"}


@pytest.mark.slow
@pytest.mark.parametrize(("network", "chip", "share"), [("pocket", "edge-2x2", 0.8), ("digits", "edge-4x4", 0.95)])
def test_on_other_chips_it_is_seen(network: str, chip: str, share: float) -> None:
    found = tally(Log(network, chip), 60)
    assert found["changed"] + found["refused"] >= share * 60


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4"])
def test_in_a_model_it_is_seen(models: Path, chip: str) -> None:
    """Nine of ten are; the others are mostly words to a neighbour, which overwrite what is the same, or is padding."""
    found = tally(Log(models / "mlperf_kws_dscnn" / "model.tflite", chip), 60)
    assert found["changed"] + found["refused"] >= 0.85 * 60

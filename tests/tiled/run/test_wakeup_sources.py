"""Every stall that can be has somebody who lets it end, and these are the machine's own tracks."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import tilesim
from tests.test_digits import MODEL as DIGITS
from tilesim.sim.core.unit import Reason
from tilesim.tiled.run.wakeup_sources import wakeup_sources
from tilesim.tiled.units.chip import Chip

OWN = {
    "tensor": {"fifo", "hazard", "port", "work"},
    "mac_array": {"fifo", "hazard", "port", "work"},
}
"""What units wait for that may be their own doing or nobody's: results that are still to be written, parameters that
are read through the same port, the end of the program.
"""


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x4", "ring-8", "pocket-2x1"])
def test_they_are_tracks_of_the_chip(chip: str) -> None:
    topology = tilesim.load_topology(chip)
    tracks = {unit.track for unit in Chip(topology, 1, None, lambda _tile, _label: None).units}
    found = wakeup_sources(topology, tracks)
    for (track, kind), partner in found.items():
        assert track in tracks
        assert {*partner.tracks} <= tracks - {track}
        assert kind in {reason.kind for reason in Reason}


@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2", "edge-2x4"])
def test_a_run_knows_what_released_its_stalls(chip: str) -> None:
    program = tilesim.compile(tilesim.load_network(DIGITS), tilesim.load_topology(chip))
    trace = tilesim.simulate(program, np.zeros((1, 1, 8, 8), np.float32), trace=True).trace
    assert trace is not None
    stalled = trace.kind != trace.kinds.index("busy")
    unknown = Counter(
        (re.sub(r".*\.", "", trace.tracks[trace.track[k]]), trace.kinds[trace.kind[k]].removeprefix("stall:"))
        for k in np.flatnonzero(stalled & (trace.released_by < 0))
    )
    assert {(unit, reason) for unit, reason in unknown if reason not in OWN.get(unit, ())} == set()
    by = trace.released_by[stalled & (trace.released_by >= 0)]
    assert {trace.kinds[trace.kind[k]] for k in by} == {"busy"}
    assert (trace.start_cycle[by] < (trace.start_cycle + trace.cycles)[stalled & (trace.released_by >= 0)]).all()


@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4"])
def test_who_ends_a_wait_for_a_port_has_it_to_the_last(chip: str) -> None:
    """And not somebody who happens to raise a flag then."""
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology(chip))
    trace = tilesim.simulate(program, trace=True, engine="simpy").trace
    assert trace is not None
    ends = trace.start_cycle + trace.cycles
    waits = np.flatnonzero((trace.kind == trace.kinds.index("stall:port")) & (trace.released_by >= 0))
    assert len(waits)
    assert (ends[trace.released_by[waits]] >= ends[waits]).all()

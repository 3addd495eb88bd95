"""Who ended waits, as the compiled engine knows it."""

import numpy as np
import pytest

import tilesim
from tests.tiled.dataflow.agreement import COMPILED
from tilesim.machines.frame import named
from tilesim.sim.trace.wakeups import Wakeups
from tilesim.tiled.core.timing import timed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.noted import Noted
from tilesim.tiled.run.wakers import wakeups
from tilesim.tiled.units.host.sendings import PROGRAM

pytestmark = COMPILED


def of(network: str, chip: str) -> Wakeups:
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip))
    assert isinstance(program, Program)
    timing = timed(named(program), traces=True)
    return wakeups(named(program), timing, Noted(named(program), timing))


def said(found: Wakeups, track: str) -> set[tuple[str, str, str]]:
    """By whom a unit was woken, with what, from what kind of wait."""
    some = np.flatnonzero(found.track == found.tracks.index(track)).tolist()
    columns = (found.by_track, found.by_what, found.kind)
    by, what, kind = ([int(column[k]) for k in some] for column in columns)
    return {(found.tracks[a], found.names[b], found.names[c]) for a, b, c in zip(by, what, kind, strict=True)}


def test_a_flag_is_raised_in_the_same_tile() -> None:
    found = of("pocket", "edge-2x2")
    waited = {found.tracks[track] for track in found.track.tolist()}
    for track in waited - {"chip.controller"}:
        tile = track.rpartition(".")[0] if ".stop" not in track else f"chip.tile{track[-1]}"
        assert {by.rpartition(".")[0] for by, _, _ in said(found, track)} == {tile}
        assert {kind for _, _, kind in said(found, track)} == {"stall:flag"}


def test_a_tensor_control_waits_with_its_mac_array() -> None:
    found = of("pocket", "edge-2x2")
    assert said(found, "chip.tile0.tensor") == said(found, "chip.tile0.mac_array")
    assert said(found, "chip.tile0.tensor")


@pytest.mark.parametrize("chip", ["coral-usb", "coral-pcie"])
def test_the_controller_waits_for_the_hosts_instructions(chip: str) -> None:
    found = of("pocket", chip)
    assert ("chip.host.infeed", PROGRAM, "stall:host") in said(found, "chip.controller")

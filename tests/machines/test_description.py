"""What machines say of themselves is true of their chips and their runs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import reduce

import pytest

import tilesim
from tilesim.machines.description import Description
from tilesim.registry import description_of, machine_named
from tilesim.sim.core.action import Action
from tilesim.statistics import RunStatistics

MACHINES = ("tiled", "systolic", "rotating")


@pytest.fixture(scope="module", params=MACHINES)
def described(request: pytest.FixtureRequest) -> tuple[Description, RunStatistics]:
    """What a machine says, and a run on its example."""
    chip = tilesim.load_topology(machine_named(request.param).example)
    run = tilesim.simulate(tilesim.compile(tilesim.load_network("example-conv"), chip))
    return description_of(request.param), run.statistics


def test_roofs_are_of_keys_links_and_counts_that_there_are(described: tuple[Description, RunStatistics]) -> None:
    description, run = described
    for rate in (*description.peaks, *description.bandwidths):
        for key in (*rate.keys, rate.clock):
            assert isinstance(reduce(lambda section, name: section[name], key.split("."), run["chip"]), int)
        assert not rate.links or rate.links in {role.bus for role in description.roles}
        assert not rate.bus or rate.bus in run["bytes"]
        assert {*rate.actions} <= {str(action) for action in Action}


def test_every_track_has_a_role_and_every_cause_a_meaning(described: tuple[Description, RunStatistics]) -> None:
    description, run = described
    tracks = [unit["track"] for unit in (*run["units"], *run["links"])]
    for track in tracks:
        assert any(fnmatchcase(f".{track}", f"*.{role.ending}") for role in description.roles), track
        assert track.split(".")[1] in description.groups or track.split(".")[1].startswith("tile"), track
    assert any(track.endswith(description.mac_arrays) for track in tracks)
    assert {*run["breakdown"]} <= {*description.causes}


@pytest.mark.parametrize("name", MACHINES)
def test_buses_and_memories_are_those_of_its_runs(name: str) -> None:
    machine = machine_named(name)
    program = tilesim.compile(tilesim.load_network("example-conv"), tilesim.load_topology(machine.example))
    assert description_of(name).buses == tuple(tilesim.simulate(program).statistics["bytes"])
    assert description_of(name).memories == tuple(machine.peak_bytes(program))


def test_a_machine_that_is_not_here_has_an_empty_one() -> None:
    assert description_of("abacus") == Description()

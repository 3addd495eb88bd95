"""Whose work a track's depends on, by names."""

from __future__ import annotations

from tilesim.machines import description
from tilesim.registry import description_of
from tilesim.report.analysis.dependences import Dependences, Places

TRACKS = (
    "chip.controller",
    "chip.instruction_bus.stop0",
    "chip.instruction_bus.stop1",
    "chip.instruction_bus.stop11",
    "chip.mesh.tile1.east",
    "chip.ring.link0",
    "chip.ring.link1",
    "chip.ring.link2",
    "chip.tile0.ring_producer",
    "chip.tile1.mac_array",
    "chip.tile1.mesh_out_east",
    "chip.tile1.mesh_out_west",
    "chip.tile1.ring_consumer",
    "chip.tile1.tensor",
)
FOUND = Dependences(TRACKS, description_of("tiled").dependences)


def names(places: Places, track: str) -> list[str]:
    return [TRACKS[place] for place in places(TRACKS.index(track))]


def test_a_tile_is_set_to_work_by_its_own_stop_of_the_instruction_bus() -> None:
    assert names(FOUND.started_by, "chip.tile1.mac_array") == ["chip.instruction_bus.stop1"]


def test_a_stop_is_set_to_work_by_the_one_before_and_the_first_by_the_controller() -> None:
    assert names(FOUND.started_by, "chip.instruction_bus.stop1") == ["chip.instruction_bus.stop0"]
    assert names(FOUND.started_by, "chip.instruction_bus.stop0") == ["chip.controller"]


def test_before_the_first_link_of_a_ring_is_its_last() -> None:
    assert names(FOUND.started_by, "chip.ring.link0") == ["chip.ring.link2"]
    assert names(FOUND.started_by, "chip.ring.link1") == ["chip.ring.link0", "chip.tile0.ring_producer"]


def test_a_link_of_the_mesh_is_set_to_work_by_its_own_tile() -> None:
    assert names(FOUND.started_by, "chip.mesh.tile1.east") == ["chip.tile1.mesh_out_east", "chip.tile1.mesh_out_west"]


def test_the_mac_array_tells_more_of_what_tensor_control_does() -> None:
    assert names(FOUND.told_by, "chip.tile1.tensor") == ["chip.tile1.mac_array"]
    assert names(FOUND.told_by, "chip.tile1.mac_array") == []


def test_nobody_sets_to_work_what_a_description_does_not_name() -> None:
    assert names(FOUND.started_by, "chip.controller") == []
    assert Dependences(TRACKS, description.Dependences()).started_by(3) == ()

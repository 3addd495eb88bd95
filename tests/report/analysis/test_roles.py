"""What tracks are, told by how they end."""

import pytest

from tilesim.report.analysis.roles import role, track_words, tracks_where


@pytest.mark.parametrize(
    ("track", "words", "bus", "sends_on"),
    [
        ("chip.ring.link4", "ring links", "ring", ""),
        ("chip.mesh.tile3.east", "mesh links", "mesh", ""),
        ("chip.instruction_bus.stop12", "instruction bus stops", "instruction bus", ""),
        ("chip.host.infeed", "host infeed", "host", ""),
        ("chip.infeed", "infeed", "", "ring"),
        ("chip.tile3.ring_producer", "ring producers", "", "ring"),
        ("chip.tile3.mesh_in_east", "mesh in", "", ""),
        ("infeed", "infeed", "", "ring"),
        ("array.weight_fifo2", "weight fifo 2", "", ""),
    ],
)
def test_the_end_of_a_track_tells_its_role(track: str, words: str, bus: str, sends_on: str) -> None:
    found = role(track)
    assert (found.words, found.bus, found.sends_on) == (words, bus, sends_on)


def test_tracks_of_a_bus_in_their_order() -> None:
    tracks = ("chip.mesh.tile1.west", "chip.tile1.tensor", "chip.ring.link0")
    assert tracks_where(tracks, lambda role: role.bus) == {"chip.mesh.tile1.west": "mesh", "chip.ring.link0": "ring"}


def test_words_leave_the_chip_out() -> None:
    assert track_words("chip.tile3.mesh_in_east") == "tile 3 mesh in east"
    assert track_words("array") == "array"

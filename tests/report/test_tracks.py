"""Tracks are found where people look for them."""

from tilesim.report.tracks import groups, words


def test_buses_come_before_tiles_and_numbers_count() -> None:
    tracks = ["chip.tile10.tensor", "chip.tile9.mesh_in_east", "chip.ring.link10", "chip.ring.link9", "chip.infeed"]
    found = [(group.title, group.names) for group in groups(tracks)]
    assert found == [
        ("Host and controller", ("infeed",)),
        ("Ring bus", ("link 9", "link 10")),
        ("Tile 9", ("mesh in east",)),
        ("Tile 10", ("tensor",)),
    ]
    assert [tracks[place] for group in groups(tracks) for place in group.tracks] == [
        *("chip.infeed", "chip.ring.link9", "chip.ring.link10", "chip.tile9.mesh_in_east", "chip.tile10.tensor"),
    ]


def test_names_tell_the_tracks_of_a_group_apart() -> None:
    tracks = ["chip.host.infeed", "chip.infeed", "chip.mesh.tile3.east", "chip.instruction_bus.stop2", "lonely"]
    assert {name for group in groups(tracks) for name in group.names} == {
        *("host infeed", "infeed", "tile 3 east", "stop 2", "lonely"),
    }


def test_every_track_is_in_one_group() -> None:
    tracks = ["<b>", "chip", "chip.weight_memory.port0", "chip.weight_memory", "", "chip.tile1.x"]
    places = [place for group in groups(tracks) for place in group.tracks]
    assert sorted(places) == list(range(len(tracks)))


def test_paths_in_words() -> None:
    assert [words(name) for name in ("mesh_in_east", "link4", "x")] == ["mesh in east", "link 4", "x"]


def test_numbers_of_any_length_have_an_order() -> None:
    tracks = [f"chip.ring.link{'1' * 5000}", "chip.ring.link2", f"chip.ring.link{chr(0x661) * 5000}"]
    assert groups(tracks)[0].tracks[0] == 1

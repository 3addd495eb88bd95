"""Tracks are found where people look for them, and every kind of cycles has its words and its colour."""

from __future__ import annotations

import re

import pytest

from tilesim.registry import description_of
from tilesim.report.document import SavedRun
from tilesim.report.page.build import _asset
from tilesim.report.tracks import (
    DEEPEST,
    KINDS,
    groups,
    in_order,
    kind_of,
    master_hue,
    master_words,
    masters_of,
    role,
    track_words,
    tracks_where,
    tree,
    words,
)
from tilesim.sim.core.unit import BUSY, Reason

CSS = _asset("base.css")
TILED, SYSTOLIC = description_of("tiled"), description_of("systolic")


def test_buses_come_before_tiles_and_numbers_count() -> None:
    tracks = ["chip.tile10.tensor", "chip.tile9.mesh_in_east", "chip.ring.link10", "chip.ring.link9", "chip.infeed"]
    found = [(group.title, group.names) for group in groups(tracks, TILED)]
    assert found == [
        ("Host and controller", ("infeed",)),
        ("Ring bus", ("link 9", "link 10")),
        ("Tile 9", ("mesh in east",)),
        ("Tile 10", ("tensor",)),
    ]
    assert [tracks[place] for group in groups(tracks, TILED) for place in group.tracks] == [
        *("chip.infeed", "chip.ring.link9", "chip.ring.link10", "chip.tile9.mesh_in_east", "chip.tile10.tensor"),
    ]


def test_each_machine_has_groups_and_roles_of_its_own() -> None:
    tracks = ["chip.vector", "chip.host.infeed", "chip.sequencer", "chip.weight_path"]
    titles = [group.title for group in groups(tracks, SYSTOLIC)]
    assert titles == ["Host and sequencer", "Weights", "Array and vector unit"]
    assert (role("chip.vector", SYSTOLIC).words, role("chip.vector", TILED).words) == ("vector unit", "vector")


def test_names_tell_the_tracks_of_a_group_apart() -> None:
    tracks = ["chip.host.infeed", "chip.infeed", "chip.mesh.tile3.east", "chip.instruction_bus.stop2", "lonely"]
    assert {name for group in groups(tracks, TILED) for name in group.names} == {
        *("host infeed", "infeed", "tile 3 east", "stop 2", "lonely"),
    }


def test_every_track_is_in_one_group() -> None:
    tracks = ["<b>", "chip", "chip.weight_memory.port0", "chip.weight_memory", "", "chip.tile1.x"]
    places = [place for group in groups(tracks, TILED) for place in group.tracks]
    assert sorted(places) == list(range(len(tracks)))


def test_paths_in_words() -> None:
    assert [words(name) for name in ("mesh_in_east", "link4", "x")] == ["mesh in east", "link 4", "x"]


def test_numbers_of_any_length_have_an_order() -> None:
    tracks = [f"chip.ring.link{'1' * 5000}", "chip.ring.link2", f"chip.ring.link{chr(0x661) * 5000}"]
    assert groups(tracks, TILED)[0].tracks[0] == 1


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
    known = role(track, TILED)
    assert (known.words, known.bus, known.sends_on) == (words, bus, sends_on)


def test_tracks_of_a_bus_in_their_order() -> None:
    tracks = ("chip.mesh.tile1.west", "chip.tile1.tensor", "chip.ring.link0")
    assert tracks_where(tracks, TILED, lambda role: role.bus) == {
        "chip.mesh.tile1.west": "mesh",
        "chip.ring.link0": "ring",
    }


def test_words_leave_the_chip_out() -> None:
    assert track_words("chip.tile3.mesh_in_east") == "tile 3 mesh in east"
    assert track_words("array") == "array"


def test_every_kind_of_cycles_is_explained() -> None:
    assert {BUSY, *(reason.kind for reason in Reason)} == set(KINDS)
    assert all(kind.sentence.endswith(".") for kind in KINDS.values())


def test_every_kind_has_a_colour_in_the_light_and_in_the_dark() -> None:
    for kind in (*KINDS, "stall:other"):
        assert len(re.findall(f"--{kind.replace(':', '-')}: #", CSS)) == 2


def test_a_strange_reason_stands_for_itself() -> None:
    assert kind_of("stall:weights").words == "waits for weights"


def test_groups_come_before_their_parts_and_all_are_numbered() -> None:
    found = tree(["chip.host.infeed", "chip.tile0.tensor", "chip.host.outfeed", "chip.tile0"])
    rows = [(track.number, track.parent, track.place, track.path, track.name) for track in found.values()]
    assert rows == [
        (1, 0, 0, "chip", "chip"),
        (2, 1, 0, "chip.host", "host"),
        (3, 2, 0, "chip.host.infeed", "infeed"),
        (4, 1, 1, "chip.tile0", "tile0"),
        (5, 4, 0, "chip.tile0.tensor", "tensor"),
        (6, 2, 1, "chip.host.outfeed", "outfeed"),
    ]


def test_a_path_of_any_depth_is_found_again() -> None:
    path = ".".join("abcdefghijkl")
    found = tree([path, "a.b"])
    assert len(found) == DEEPEST
    assert found[path].name == "h.i.j.k.l"


def test_the_statistics_give_the_order() -> None:
    statistics = {"units": [{"track": "tile2"}, {"track": "tile10"}], "links": [{"track": "ring"}]}
    assert in_order(statistics, ["new", "ring", "tile10"]) == ["tile2", "tile10", "ring", "new"]
    assert in_order({"units": [], "links": []}, []) == ["chip"]


def test_masters_are_numbered_as_they_stand_in_the_ring(keywords_run: SavedRun) -> None:
    masters = masters_of(keywords_run.statistics)
    assert masters == {"infeed": 0, **{f"tile {k}": k + 1 for k in range(16)}, "classifier": 17}
    assert [master_hue(masters[name]) for name in ("infeed", "tile 10", "tile 11")] == [
        *("master:0", "master:11", "master:0"),
    ]


def test_a_master_is_called_by_its_node() -> None:
    assert [master_words(each) for each in ("chip.tile3.ring_producer", "chip.infeed", "elsewhere")] == [
        *("tile 3", "infeed", "elsewhere"),
    ]

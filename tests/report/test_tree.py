from __future__ import annotations

from tilesim.report.tree import DEEPEST, in_order, tree


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

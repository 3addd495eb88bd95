"""Points by numbers: what has an order is in it, and every point of the space has its place."""

from __future__ import annotations

from itertools import product

import pytest

from tilesim import api
from tilesim.explore.bench.task import tasks
from tilesim.explore.design.space import Space, space
from tilesim.explore.point import Value
from tilesim.explore.search.places import Places
from tilesim.explore.search.sampler import Dimension

NETWORKS = {model: api.load_network(model) for model in ("digits", "pocket")}


def places_of(wanted: Space) -> Places:
    return Places(wanted, NETWORKS)


@pytest.mark.parametrize(
    ("key", "values", "ordered"),
    [
        ("tile.lanes", [64, 16, 32], [16, 32, 64]),
        ("wide_memory.size_bytes", ["1 MiB", "64 KiB"], ["64 KiB", "1 MiB"]),
        ("clock_hz", ["1 GHz", "500 MHz"], ["500 MHz", "1 GHz"]),
        ("grid", ["2x2", "4x1", "1x2", "1x4"], ["1x2", "1x4", "2x2", "4x1"]),
        ("partition", ["spatial", "channel"], None),
        ("cache", ["on", "off"], None),
    ],
)
def test_values_are_in_their_order_if_they_have_one(key: str, values: list[Value], ordered: list[Value] | None) -> None:
    wanted = space(["digits"], ["edge-2x2"], {key: values})
    places = places_of(wanted)
    assert places.dimensions == [Dimension(key, len(values), ordered is not None)]
    expected = [wanted.point("digits", "edge-2x2", [value]) for value in ordered or wanted.axes[0].values]
    found = [places.task((place,)) for place in range(len(values))]
    assert [task and task.point for task in found] == expected


def test_every_point_has_its_place() -> None:
    vary = {"grid": "1x1,1x2", "tile.lanes": [16], "cache": "on,off", "wide_memory.size_bytes": ["64 KiB", "128 KiB"]}
    wanted = space(["digits", "pocket"], ["edge-2x2", "pocket-2x1"], vary)
    places = places_of(wanted)
    assert [dimension.name for dimension in places.dimensions] == [
        "model",
        "chip",
        "grid",
        "cache",
        "wide_memory.size_bytes",
    ]
    found = [places.task(choice) for choice in product(*(range(dimension.size) for dimension in places.dimensions))]
    expected = {task.key for task in tasks(wanted.points(), NETWORKS) if task.topology}
    assert {task.key for task in found if task} == expected
    assert len(expected) > 8


def test_points_that_are_not_wanted_have_no_task_nor_those_whose_chip_cannot_be() -> None:
    wanted = space(
        ["digits"], ["edge-2x2"], {"grid": "1x1,2x2", "tile.lanes": "16,48"}, where=["grid.rows < 2", "cycles < 9"]
    )
    places = places_of(wanted)
    assert [bool(places.task(choice)) for choice in product(range(2), range(2))] == [True, False, False, False]
    [refusal] = places.refusals
    assert "tile.lanes must be a power of two, not 48" in refusal


def test_the_digest_says_whether_a_search_is_the_same() -> None:
    def digest(**changes: object) -> str:
        words = {
            "vary": {"tile.lanes": "16,32"},
            "settings": {"ring.hop_cycles": 1},
            "where": ["tile.lanes < 64"],
            **changes,
        }
        return places_of(space(["digits"], ["edge-2x2"], **words)).digest  # type: ignore[arg-type]

    assert digest() == digest()
    others = [
        digest(vary={"tile.lanes": "16,64"}),
        digest(settings={"ring.hop_cycles": 2}),
        digest(where=["tile.lanes < 65"]),
    ]
    assert len({digest(), *others}) == 4

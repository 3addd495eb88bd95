"""Markers of a roofline: none covers another, none is lost, and no label lies on anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.report.analysis.layers import layers
from tilesim.report.analysis.roofline import Dot
from tilesim.report.document import SavedRun
from tilesim.report.figures.marks import GREATEST_RADIUS, LEAST_RADIUS, Box, Mark, around, label_places, merged

FRAME = Box(0, 0, 250, 180)
places = st.tuples(st.floats(20, 230), st.floats(20, 160))


@pytest.fixture(scope="module")
def dot(digits_run: SavedRun) -> Dot:
    return Dot(layers(digits_run.statistics)[0], 1, 1.0, 1.0)


def dots_of(dot: Dot, cycles: list[int]) -> list[Dot]:
    kinds = ("convolution", "depthwise")
    return [replace(dot, layer=replace(dot.layer, index=k, cycles=n, kind=kinds[n % 2])) for k, n in enumerate(cycles)]


@given(st.lists(st.tuples(places, st.integers(1, 1000)), max_size=40))
def test_marks_hold_all_layers_and_cover_none(dot: Dot, given_: list[tuple[tuple[float, float], int]]) -> None:
    dots = dots_of(dot, [cycles for _, cycles in given_])
    marks = merged(dots, np.array([place for place, _ in given_], np.float64).reshape(-1, 2))
    assert sorted(number for mark in marks for number in mark.numbers) == [*range(len(dots))]
    for mark, other in combinations(marks, 2):
        apart = hypot(mark.place[0] - other.place[0], mark.place[1] - other.place[1])
        assert apart >= mark.radius + other.radius
    for mark in marks:
        assert {dots[number].layer.kind for number in mark.numbers} == {mark.kind}
        assert LEAST_RADIUS <= mark.radius <= GREATEST_RADIUS


def test_a_layer_alone_stands_in_its_place_and_equal_ones_share_it(dot: Dot) -> None:
    marks = merged(dots_of(dot, [8, 4, 2, 1]), np.array([(50, 50), (52, 50), (150, 50), (53, 50)], np.float64))
    assert [(mark.place[1], mark.words) for mark in marks] == [(50, "0, 1"), (50, "2"), (50, "3")]
    assert [mark.place[0] for mark in marks[:2]] == [50, 150]
    assert marks[2].place[0] != 53  # of another kind, beside what it would cover
    assert Mark((0, 0), "convolution", None, 1, [9, 3, 7, 5, 1]).words == "1, 3, 5 +2"


@given(st.lists(st.tuples(places, st.integers(1, 1000)), max_size=40))
def test_labels_cover_nothing(dot: Dot, given_: list[tuple[tuple[float, float], int]]) -> None:
    dots = dots_of(dot, [cycles for _, cycles in given_])
    marks = merged(dots, np.array([place for place, _ in given_], np.float64).reshape(-1, 2))
    roof = Box(0, 88, 250, 92)
    found = label_places(marks, FRAME, [roof])
    boxes = [
        around(place, 0.3 * 6 * len(mark.words), 3)
        for mark, place in zip(marks, found, strict=True)
        if place is not None
    ]
    markers = [around(mark.place, mark.radius, mark.radius) for mark in marks]
    assert all(box.within(FRAME) for box in boxes)
    assert not any(box.covers(other) for box, other in combinations(boxes, 2))
    assert not any(box.covers(other) for box in boxes for other in (roof, *markers))


def test_a_lone_marker_has_its_label() -> None:
    assert label_places([Mark((100, 100), "convolution", None, 1, [7])], FRAME, []) != [None]

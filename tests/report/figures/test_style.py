"""Colours from the page's style sheet; shares as pixels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import KINDS
from tilesim.report.figures.style import colour, rgb, stacked_shares
from tilesim.report.page.build import _asset


def test_colours_are_those_of_the_page_in_the_light() -> None:
    light = _asset("base.css").partition("}")[0]
    for name in (*KINDS, "idle", "cause:output write", "cause:instruction_bus", "master:0", "fg"):
        variable = name.replace(":", "-").replace(" ", "-").replace("_", "-")
        assert f"--{variable}: {colour(name)};" in light


def test_a_strange_meaning_is_grey() -> None:
    assert colour("stall:moonlight") == "#9aa3ad"


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_every_part_has_as_much_of_the_picture_as_its_share(seed: int, height: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), size=(2, 5)).transpose(0, 2, 1)[:, :2]  # (row, part, bin); the rest is idle
    picture = stacked_shares(shares, ["#ff0000", "#00ff00"], "#0000ff", height)
    assert picture.shape == (2 * height, 5, 3)
    means = picture.reshape(2, height, 5, 3).mean(axis=1)
    np.testing.assert_allclose(means[..., 0], shares[:, 0])
    np.testing.assert_allclose(means[..., 1], shares[:, 1])
    np.testing.assert_allclose(picture.sum(axis=2), 1)


def test_parts_lie_on_one_another_from_below() -> None:
    picture = stacked_shares(np.array([[[0.5], [0.25]]]), ["#ff0000", "#00ff00"], "#0000ff", 4)
    red, green, blue = rgb(["#ff0000", "#00ff00", "#0000ff"]).tolist()
    assert picture[:, 0].tolist() == [blue, green, red, red]


@pytest.mark.parametrize(("text", "numbers"), [("#000000", [0, 0, 0]), ("#ff8000", [1, 128 / 255, 0])])
def test_colours_as_numbers(text: str, numbers: list[float]) -> None:
    assert rgb([text])[0].tolist() == numbers

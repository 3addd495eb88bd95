"""A colour has one meaning, and those that stand in one picture are told apart, by the colour-blind too.

Source: what the colour-blind see is that of Machado, Oliveira and Fernandes, "A Physiologically-based Model for
Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1.0; distances are those in Oklab (Ottosson, "A
perceptual color space for image processing", 2020), times 100; contrasts are those of WCAG 2.1, 1.4.3 and 1.4.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from tilesim.machines.description import Description
from tilesim.registry import description_of
from tilesim.report.exploration.losses import LOSSES
from tilesim.report.figures.style import colour
from tilesim.report.tracks import KINDS, MASTER_HUES

Numbers = NDArray[np.float64]

SEEN = np.array(
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
)
"""Linear red, green and blue as seen by everybody else, with protanopia, deuteranopia, tritanopia."""
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
APART = 5.5
"""In one picture, for everybody. The nine of Tol's "muted" palette come to 5.2, the seven of "bright" to 3.3."""
FIRST_MASTERS = 6.5
"""Of the first eight masters; the eight of Okabe and Ito come to 7.6."""
ALL_MASTERS = 3.3
UNLIKE = 2.5
"""Of any two meanings, who sees all colours; a just noticeable difference is about 2."""
READ, SEEN_APART = 4.5, 3.0
FAINT = {"idle", "stall-work", "cause-unused-MACs", "lost-remainder", "lost-other"}
"""What is absent, or not as good as what stands beside it, is faint on purpose; words stand beside it."""
NEUTRAL = {"bg", "raised", "fg", "muted", "line"}
THEMES = ("light", "dark")


def sheet(theme: str) -> dict[str, str]:
    """What each variable is said to be: a colour, or another's name."""
    text = (files("tilesim.report.page") / "base.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+):\s*([^;]+);", text[text.index(head) :].split("}")[0]))
        for head in (":root {", ':root[data-theme="dark"] {')
    )
    return {**light, **dark} if theme == "dark" else light


def colours(theme: str) -> dict[str, Numbers]:
    """Each meaning's own, (red, green, blue) from 0 to 1."""
    return {name: rgb(value) for name, value in sheet(theme).items() if value.startswith("#")}


def rgb(text: str) -> Numbers:
    return np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)]) / 255


def linear(values: Numbers) -> Numbers:
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def seen(value: Numbers) -> Numbers:
    """(vision, Oklab times 100)."""
    return np.cbrt(np.clip(SEEN @ linear(value), 0, 1) @ CONES.T) @ OPPONENTS.T * 100


def distances(one: Numbers, other: Numbers) -> Numbers:
    """For each vision."""
    return np.linalg.norm(seen(one) - seen(other), axis=1)


def luminance(value: Numbers) -> float:
    return float(linear(value) @ [0.2126, 0.7152, 0.0722])


def contrast(one: Numbers, other: Numbers) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def variable(name: str) -> str:
    return re.sub(r"[: _]", "-", name)


def kinds(*others: str) -> set[str]:
    """What the tracks of a machine may be doing: all but what ``others`` only know."""
    return {"idle", *map(variable, KINDS)} - {f"stall-{other}" for other in others}


def causes(description: Description) -> set[str]:
    return {"idle", *(variable(f"cause:{cause}") for cause in description.causes)}


def masters(count: int) -> set[str]:
    return {"master-other", "idle", *(f"master-{k}" for k in range(count))}


PICTURES = {
    "timeline of a tiled chip": (kinds("weights", "shift", "raw", "input"), APART),
    "timeline of a systolic chip": (kinds("flag", "port", "credit", "hazard", "traversal"), APART),
    "timeline of a rotating chip": (kinds("flag", "credit", "hazard", "traversal", "shift"), APART),
    **{f"causes, {name}": (causes(description_of(name)), APART) for name in ("tiled", "systolic", "rotating")},
    "losses": ({f"lost-{name}" for name in ("ideal", *LOSSES)}, APART),
    "lines of networks": ({f"series-{k}" for k in range(8)} | {"bg"}, APART),
    "better and worse": ({"better", "worse", "bg", "muted"}, APART),
    "layers' bars": ({"busy", "energy", "idle", "accent"}, APART),
    "first masters": (masters(8) | {"busy"}, FIRST_MASTERS),
    "all masters": (masters(MASTER_HUES) | {"stall-credit", "accent"}, ALL_MASTERS),
}


def own(names: Iterable[str], theme: str) -> set[str]:
    """The variables that the colours of ``names`` are stated in."""
    said = sheet(theme)
    return {said[name].removeprefix("var(--").rstrip(")") if said[name].startswith("var") else name for name in names}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("picture", PICTURES)
def test_colours_in_one_picture_are_told_apart_by_everybody(picture: str, theme: str) -> None:
    names, apart = PICTURES[picture]
    of = colours(theme)
    pairs = {pair: distances(of[pair[0]], of[pair[1]]).min() for pair in combinations(sorted(own(names, theme)), 2)}
    assert {pair: distance for pair, distance in pairs.items() if distance < apart} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_meanings_have_a_colour(theme: str) -> None:
    of = {name: value for name, value in colours(theme).items() if name not in NEUTRAL}
    alike = {pair: distances(of[pair[0]], of[pair[1]])[0] for pair in combinations(of, 2)}
    assert {pair: distance for pair, distance in alike.items() if distance < UNLIKE} == {}
    assert len({sheet(theme)[name] for name in colours(theme)}) == len(colours(theme))


def test_what_means_the_same_has_the_same_colour_in_both_themes() -> None:
    light, dark = map(sheet, THEMES)
    assert light.keys() == dark.keys()
    assert [name for name in light if light[name].startswith("var") and light[name] != dark[name]] == []
    assert [name for name in light if light[name].startswith("#") and light[name] == dark[name]] == []
    assert {colour(name) for name in ("cause:port", "lost:ports", "stall:port")} == {light["stall-port"]}


@pytest.mark.parametrize("theme", THEMES)
def test_words_can_be_read(theme: str) -> None:
    of = colours(theme)
    papers = [of["bg"], of["raised"]]
    faint = [(name, paper) for name in ("fg", "muted", "fault") for paper in papers if contrast(of[name], paper) < READ]
    assert faint == []


@pytest.mark.parametrize("theme", THEMES)
def test_lines_and_fills_are_seen_on_the_page(theme: str) -> None:
    of = colours(theme)
    found = {name: contrast(of[name], of["bg"]) for name in of.keys() - NEUTRAL - FAINT}
    assert {name: value for name, value in found.items() if value < SEEN_APART} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_words_on_a_span_can_be_read(theme: str) -> None:
    """As the timeline chooses between dark and light ones."""
    for name in own(kinds(), theme) - {"idle"}:
        fill = colours(theme)[name]
        ink = "#15181c" if fill @ [0.299, 0.587, 0.114] * 255 > 140 else "#ffffff"
        assert contrast(fill, rgb(ink)) >= READ, name


def test_a_meaning_that_nobody_described_has_a_colour() -> None:
    assert colour("stall:nonsense") == "#9aa3ad"

"""The roofline in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open

RING = "MACs per byte that enters the ring"


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


@pytest.fixture
def layers(digits: Path) -> dict[int, dict[str, Any]]:
    """The layers that do MACs, by number."""
    document = json.loads((digits / "run.json").read_text(encoding="utf-8"))
    return {k: layer for k, layer in enumerate(document["layers"]) if layer["macs"]}


def test_every_layer_with_macs_is_there_and_tells_its_numbers(page: Any, layers: dict[int, dict[str, Any]]) -> None:
    page.locator("#roofline select").select_option(RING)
    dots = page.locator(".roofline .dot")
    assert sorted(int(dot.get_attribute("data-layer")) for dot in dots.all()) == list(layers)
    for k, layer in layers.items():
        page.locator(f".roofline .dot[data-layer='{k}']").focus()
        words = page.locator("#tip").text_content()
        assert f"{layer['macs']:,} MACs in {layer['cycles']:,} cycles" in words
        moved = layer["bytes"]["ring"]["entered"]
        assert (f"{moved:,} bytes: {layer['macs'] / moved:.4g} MACs" if moved else "no byte") in words


def test_dots_lie_higher_the_more_macs_a_second(page: Any, layers: dict[int, dict[str, Any]]) -> None:
    rates = {k: layer["macs"] / layer["cycles"] for k, layer in layers.items()}
    tops = {k: page.locator(f".roofline .dot[data-layer='{k}']").bounding_box()["y"] for k in layers}
    assert sorted(layers, key=lambda k: -rates[k]) == sorted(layers, key=lambda k: tops[k])


def test_each_intensity_has_its_roof(page: Any) -> None:
    choose = page.locator("#roofline select")
    for title in choose.locator("option").all_text_contents():
        choose.select_option(title)
        assert page.locator(".roofline .roof").count() == 1
        assert page.locator("svg.roofline").get_attribute("aria-label").endswith(title)


def test_a_click_on_a_dot_asks_for_its_cycles(page: Any, layers: dict[int, dict[str, Any]]) -> None:
    page.evaluate("window.asked = []; tilesim.on('window', (it) => asked.push(it))")
    k, layer = next(iter(layers.items()))
    page.locator(f".roofline .dot[data-layer='{k}']").press("Enter")
    assert page.evaluate("asked") == [{"from": layer["start_cycle"], "to": layer["start_cycle"] + layer["cycles"]}]


def test_the_definition_stands_beside(page: Any) -> None:
    assert "Intensity: a layer's MACs divided by" in page.locator("#roofline .definition").text_content()

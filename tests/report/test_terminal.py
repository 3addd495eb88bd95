"""A run as text: its layers, its inferences, its totals."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import tilesim
from tilesim.report.terminal import (
    duration,
    inference_rows,
    layer_table,
    loads_between,
    partition_words,
    print_on,
    summary,
)


def test_quantities() -> None:
    assert duration(5_562, 500_000_000) == "11.1 us"
    assert duration(20_000_000, 500_000_000) == "40 ms"


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_terminal_and_no_name_is_markup(width: int) -> None:
    program = tilesim.compile(tilesim.load_network("example-residual"), tilesim.load_topology("edge-1x1"))
    statistics = tilesim.simulate(program, [np.zeros((1, 16, 16, 16), np.int8)]).statistics
    statistics["layers"][0]["name"] = 99 * "x" + "[bold]"
    statistics["findings"] = [{"kind": "[red]something"}]
    console = Console(file=StringIO(), width=width)
    print_on(console, summary(statistics, {"grid": "[x]"}, samples=2))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert " ".join(text.split("\n\n")[0].split()).endswith(" on edge-1x1 with grid=[x], 2 samples together")
    assert "\n0  …xxx" in text
    assert "xxx[bold] " in text
    assert "[red]something" in text
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())


def shown(width: int, **changes: object) -> str:
    """The summary of a run of the pocket workload, ``width`` columns wide."""
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    statistics = {**tilesim.simulate(program, np.zeros((1, 4, 4, 4), np.int8)).statistics, **changes}
    console = Console(file=StringIO(), width=width)
    print_on(console, summary(statistics))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_layers_and_costs_add_up_to_the_run() -> None:
    layers, costs = shown(100).split("layer ")[1].split("latency")[0], shown(200).split("largest first\n")[1]
    *rows, total = [
        re.findall(r" ([0-9,]+|-) +([0-9.]+%|-) +(?:[0-9.]+%|-)  ", line)[0] for line in layers.splitlines()[1:] if line
    ]
    assert sum(int(cycles) for cycles, _ in rows if cycles != "-") == int(total[0])
    assert total[1] == "100.0%"
    assert sum(float(line.split("%")[0]) for line in costs.splitlines()) == pytest.approx(100, abs=0.2)
    assert re.search(r"  the rest: [0-9.]+% [a-z]", costs.splitlines()[-1])
    assert float(costs.splitlines()[-1].split("%")[0]) <= 10


def test_what_bounds_a_layer_is_shown_in_full_at_80_columns() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
    statistics = tilesim.simulate(program, np.zeros((1, 1, 8, 8), np.float32)).statistics
    for layer in statistics["layers"]:
        layer.update(name=9 * "long/name", macs=1_234_567_890, cycles=12_345_678, bound_by="instruction bus")
    console = Console(file=StringIO(), width=80)
    print_on(console, summary(statistics))
    lines = console.file.getvalue().split("bound by\n")[1].splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 80
    assert all("  instruction bus" in line and "1,234,567,890" in line for line in lines[:10])


@pytest.mark.parametrize("width", [1, 20, 40])
def test_numbers_are_never_cut(width: int) -> None:
    text = shown(width, macs=123_456_789_012)
    assert "  123,456,789,012  " in text
    assert "100.0%" in text
    assert "…" in text


def test_one_inference_has_a_throughput_too() -> None:
    assert "\nthroughput  1,234.6 inferences a second, one at a time\n" in shown(80, throughput_per_second=1234.56)


def test_without_layers_only_times_are_told() -> None:
    text = shown(80, layers=[], macs=0, load_cycles=0)
    heading, times = text.split("\n\n")
    assert heading == "pocket on pocket-2x1, one inference"
    assert [line.split()[0] for line in times.splitlines()] == ["latency"]
    assert "\nloading " in shown(80, layers=[], load_cycles=7)


LAYER = {
    "kind": "convolution",
    "tiles": 16,
    "macs": 10_838_016,
    "cycles": 12_909,
    "start_cycle": 0,
    "mac_utilisation": 0.205,
    "mac_busy_cycles": 112_896,
    "breakdown": {"macs": 9_000},
    "bytes": {},
}


def statistics(*layers: dict[str, Any]) -> dict[str, Any]:
    """Of a run of layers that are all like the one above."""
    each = [{**LAYER, "bound_by": "output write", "network": "net", **layer} for layer in layers]
    whole = {
        "machine": "tiled",
        "cycles": 640_264,
        "macs": 300_775_552,
        "mac_utilisation": 0.115,
        "bound_by": "macs",
        "inferences": 1,
        "network": "net",
        "breakdown": {"macs": 640_264},
        "bytes": {},
        "units": [{"track": f"chip.tile{k}.mac_array", "busy_cycles": 1} for k in range(16)],
    }
    return {**whole, "layers": each}


def lines(found: dict[str, Any], width: int = 80) -> list[str]:
    console = Console(file=StringIO(), width=width)
    print_on(console, layer_table(found))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_at_80_columns_the_ends_of_long_names_tell_layers_apart() -> None:
    words = ("expand", "depthwise", "project")
    kinds = {"depthwise": "depthwiseconvolution"}
    names = [(f"Net/expanded_conv_{block}/{word}", word) for block in range(20) for word in words]
    layers = [
        {"name": name, "kind": kinds.get(word, "convolution"), "start_cycle": 7_000 * k}
        for k, (name, word) in enumerate(names)
    ]
    rows = lines(statistics(*layers))[1:-2]
    assert max(map(len, rows)) <= 80
    assert [row.split()[0] for row in rows] == [str(k) for k in range(60)]
    assert len({row.split()[1] for row in rows}) == 60
    assert all(row.split()[1].endswith(f"_{k // 3}/{words[k % 3]}") for k, row in enumerate(rows))


def test_layers_are_numbered_in_their_network() -> None:
    layers = [{"name": name, "network": network} for name, network in (("a", "one"), ("b", "one"), ("c", "two"))]
    rows = [line.split()[:2] for line in lines(statistics(*layers))]
    assert rows[1:6] == [["one"], ["0", "a"], ["1", "b"], ["two"], ["0", "c"]]


def of_requests(*requests: tuple[str, int, bool]) -> dict[str, Any]:
    return {
        "cycles": 1000,
        "interval_cycles": 250.4,
        "throughput_per_second": 1234.56,
        "requests": [
            {"network": name, "latency_cycles": cycles, "loaded": loaded} for name, cycles, loaded in requests
        ],
    }


def test_one_network_is_not_named() -> None:
    document = of_requests(("a", 300, True), ("a", 240, False), ("a", 243, False))
    assert list(inference_rows(document)) == [
        ("latency", 300, "for the first inference"),
        ("", 242, "for each later one"),
        ("interval", 250, "between the last words of one and the next"),
        ("throughput", None, "1,234.6 inferences a second"),
        ("in all", 1000, "for 3 inferences"),
    ]
    assert loads_between(document) == 0


def test_several_are() -> None:
    document = of_requests(("a", 300, True), ("b", 100, True), ("a", 240, True), ("b", 120, False))
    assert [words for _, _, words in inference_rows(document)][:3] == [
        "for the first inference, of a",
        "for each later one of a",
        "for each later one of b",
    ]
    assert loads_between(document) == 1


KINDS = ("convolution", "add", "fullyconnected")


def words(asked: str, *choices: str, **candidates: int) -> str:
    """Of layers of three kinds, and the cycles of what was tried."""
    statistics: dict[str, Any] = {
        "layers": [{"kind": kind} for kind in KINDS],
        "partition": {
            "asked": asked,
            "layers": [{"layer": k, "choice": choice, "reason": ""} for k, choice in enumerate(choices)],
            "candidates": [{"name": name, "cycles": cycles} for name, cycles in candidates.items()],
        },
    }
    return partition_words(statistics)


@pytest.mark.parametrize("asked", ["", "mixed"])
def test_vectors_are_spread_by_outputs_without_asking(asked: str) -> None:
    assert words(asked, "spatial", "spatial", "channel") == ""
    assert words(asked, "channel", "spatial", "channel") == f"{asked}: 2 of 3 layers by channel"


def test_what_was_tried() -> None:
    assert words("channel", "spatial", "spatial", "spatial") == "channel: 0 of 3 layers by channel"
    choices = ("channel", "channel", "spatial")
    fastest = "auto: 2 of 3 layers by channel; fastest of 2 tried was"
    assert words("auto", *choices, spatial=100, channel=100) == f"{fastest} spatial"
    assert words("auto", *choices, spatial=200, channel=150) == f"{fastest} channel, by 25.0% over spatial"
    assert words("auto", *choices, spatial=-1, channel=150) == f"{fastest} channel"

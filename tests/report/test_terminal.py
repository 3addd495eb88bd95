from __future__ import annotations

import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import tilesim
from tilesim.report.terminal import duration, frequency, print_on, summary


def test_quantities() -> None:
    assert duration(5_562, 500_000_000) == "11.1 us"
    assert duration(20_000_000, 500_000_000) == "40 ms"
    assert frequency(500_000_000) == "500 MHz"
    assert frequency(1_500_000) == "1.5 MHz"


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
    layers, costs = shown(100).split("layer ")[1].split("latency")[0], shown(100).split("largest first\n")[1]
    *rows, total = [
        re.findall(r" (-?[0-9,]+|-) +(-?[0-9.]+%|-) +(?:[0-9.]+%|-)  ", line)[0]
        for line in layers.splitlines()[1:]
        if line
    ]
    assert sum(int(cycles) for cycles, _ in rows if cycles != "-") == int(total[0])
    assert total[1] == "100.0%"
    assert sum(float(line.split("%")[0]) for line in costs.splitlines()) == pytest.approx(100, abs=0.2)
    assert costs.splitlines()[-1].endswith("  the rest")


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

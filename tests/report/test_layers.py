"""The table of layers."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from tilesim.report.layers import covered_cycles, layer_table
from tilesim.report.terminal import print_on

LAYER = {"kind": "convolution", "macs": 10_838_016, "cycles": 12_909, "start_cycle": 0, "mac_utilisation": 0.205}


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
    rows = lines(statistics(*layers))[1:-3]
    assert max(map(len, rows)) <= 80
    assert [row.split()[0] for row in rows] == [str(k) for k in range(60)]
    assert len({row.split()[1] for row in rows}) == 60
    assert all(row.split()[1].endswith(f"_{k // 3}/{words[k % 3]}") for k, row in enumerate(rows))


def test_layers_are_numbered_in_their_network() -> None:
    layers = [{"name": name, "network": network} for name, network in (("a", "one"), ("b", "one"), ("c", "two"))]
    rows = [line.split()[:2] for line in lines(statistics(*layers))]
    assert rows[1:6] == [["one"], ["0", "a"], ["1", "b"], ["two"], ["0", "c"]]


def test_cycles_in_which_several_layers_are_at_work_count_once() -> None:
    layers = [
        {"start_cycle": start, "cycles": cycles} for start, cycles in ((10, 5), (12, 2), (0, 3), (14, 6), (30, 1))
    ]
    assert covered_cycles(layers) == 3 + 10 + 1

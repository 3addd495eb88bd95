from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import tilesim
from tilesim.report.terminal import duration, frequency, short_name, show_run


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("functional_1/activation/Relu;functional_1/conv2d/BiasAdd;functional_1/conv2d/Conv2D1", "conv2d"),
        (
            "model/depthwise_conv2d_1/BiasAdd;model/depthwise_conv2d_1/BiasAdd/ReadVariableOp/resource1",
            "depthwise_conv2d_1",
        ),
        ("model/activation_2/Relu;model/add/add", "add"),
        ("MobilenetV2/expanded_conv_3/expand/Relu6", "expanded_conv_3/expand"),
        ("/features/features.0/Conv_output_0", "features.0"),
        ("stem.out_QuantizeLinear_Output", "stem.out"),
        ("Identity", "Identity"),
        ("", ""),
        ("\x1b[2Jboo\n", "?[2Jboo?"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


def test_quantities() -> None:
    assert duration(5_562, 500_000_000) == "11.1 us"
    assert duration(20_000_000, 500_000_000) == "40.0 ms"
    assert frequency(500_000_000) == "500 MHz"
    assert frequency(1_500_000) == "1.5 MHz"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_fits_the_terminal_and_no_name_is_markup(width: int) -> None:
    program = tilesim.compile(tilesim.load_network("example-residual"), tilesim.load_topology("edge-1x1"))
    statistics = tilesim.simulate(program, [np.zeros((1, 16, 16, 16), np.int8)]).statistics
    statistics["layers"][0]["name"] = "[bold]" + 99 * "x"
    statistics["findings"] = ["[red]something"]
    console = Console(file=StringIO(), width=width)
    show_run(statistics, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\n[bold]xx" in text
    assert "[red]something" in text
    assert max(map(len, text.splitlines())) <= width

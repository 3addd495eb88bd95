from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from tilesim.report.names import Ending, ending, short_name


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
        (
            "Net/b1/depthwise/Relu6;StatefulPartitionedCall/Net/b1/depthwise/depthwise;Net/b6/project/Conv2D",
            "b1/depthwise",
        ),
        ("Net/Conv2d_0/Relu6;StatefulPartitionedCall/Net/Conv2d_0/Conv2D", "Conv2d_0"),
        ("stem.out_QuantizeLinear_Output", "stem.out"),
        ("Identity", "Identity"),
        ("", ""),
        ("\x1b[2Jboo\n", "\\x1b[2Jboo\\n"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(("width", "text"), [(9, "a/b_1/add"), (8, "…b_1/add"), (2, "…d"), (1, "…")])
def test_of_a_long_name_the_end_is_shown(width: int, text: str) -> None:
    assert ending("a/b_1/add", width) == text


@pytest.mark.parametrize(("width", "text"), [(20, "[b]/long  1,234,567"), (17, "…/long  1,234,567")])
def test_a_name_gives_way_to_numbers(width: int, text: str) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_row(Ending("[b]/long"), "1,234,567")
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert console.file.getvalue().rstrip() == text  # type: ignore[attr-defined]

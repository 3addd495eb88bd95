from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from tilesim.report.words import (
    FOR,
    Ending,
    cause_words,
    ending,
    energy_text,
    energy_words,
    instant_words,
    kind_word,
    short_name,
)
from tilesim.sim.core.action import Action


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
        ("in0_QuantizeLinear", "in0"),
        ("out0_DequantizeLinear", "out0"),
        ("/layer1/layer1.0/conv1/Conv", "layer1.0/conv1"),
        ("/fc/Gemm_quant", "fc"),
        ("Conv_0", "Conv_0"),
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


def test_every_action_has_words() -> None:
    assert set(FOR) == {str(action) for action in Action}


@pytest.mark.parametrize(
    ("pj", "text"),
    [
        (0.25, "0.25 pJ"), (999, "999 pJ"), (1_310, "1.31 nJ"), (1.31072e6, "1.31 uJ"), (2.7e9, "2.7 mJ"),
        (4.5e12, "4,500 mJ"),
    ],
)  # fmt: skip
def test_an_energy_has_a_fitting_unit(pj: float, text: str) -> None:
    assert energy_text(pj) == text


def test_the_largest_share_is_named() -> None:
    actions = {"mac_8x8": {"pj": 300.0}, "wide_read": {"pj": 1700.0}}
    statistics = {"macs": 1000, "energy": {"actions": actions, "total_pj": 2000.0}}
    assert energy_words(statistics) == "2 nJ, 2 pJ a MAC; most, 85.0%, for reading wide memory"
    assert energy_words({**statistics, "macs": 0}) == "2 nJ; most, 85.0%, for reading wide memory"


def test_there_are_no_words_without_energy() -> None:
    assert energy_words({"macs": 7}) == ""
    assert energy_words({"macs": 7, "energy": {"actions": {}, "total_pj": 0.0}}) == ""


def test_kinds_and_causes_have_short_words() -> None:
    assert [kind_word(kind) for kind in ("depthwiseconvolution", "maxpool", "add")] == ["dw conv", "max pool", "add"]
    causes = ("macs", "useful MACs", "output write", None)
    assert [cause_words(cause) for cause in causes] == ["MAC array", "useful MACs", "output write", "-"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([], ""),
        (["send"], "send took no time: so it is on no chip"),
        (["a", "b", "c", "d\x1b", "e"], "a, b, c and 2 more took no time: so it is on no chip"),
    ],
)
def test_what_took_no_time_is_said(labels: list[str], words: str) -> None:
    run: Any = {"instant": labels}
    assert instant_words(run) == words

"""``--partition`` and ``--loop-order``: what they take, what they say, and what is said of bad words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

LAYERS = """seed: 1
input: {shape: [1, 2, 2, 256]}
layers:
  - {name: first, kind: convolution, filters: 512, kernel: [1, 1]}
  - {name: second, kind: convolution, filters: 512, kernel: [1, 1]%s}
"""


def workload(tmp_path: Path, more: str = "") -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(LAYERS % more)
    return path


def partition(tilesim: Any, model: Path, *words: str) -> Any:
    result = tilesim("run", model, "-t", "edge-2x4", "--json", *words)
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)["partition"]


def choices(tilesim: Any, model: Path, *words: str) -> list[str]:
    return [layer["choice"] for layer in partition(tilesim, model, *words)["layers"]]


def test_all_layers_or_some(tilesim: Any, tmp_path: Path) -> None:
    model = workload(tmp_path)
    assert choices(tilesim, model) == ["spatial", "spatial"]
    assert choices(tilesim, model, "--partition", "channel") == ["channel", "channel"]
    assert choices(tilesim, model, "--partition", "second=channel") == ["spatial", "channel"]
    assert choices(tilesim, model, "--partition", "channel", "--partition", "1=spatial") == ["channel", "spatial"]
    assert choices(tilesim, model, "--partition", f"{model}:first=channel") == ["channel", "spatial"]


def test_a_workload_may_say_it_of_a_layer_and_the_command_line_counts_more(tilesim: Any, tmp_path: Path) -> None:
    model = workload(tmp_path, ", partition: channel")
    assert choices(tilesim, model) == ["spatial", "channel"]
    assert choices(tilesim, model, "--partition", "spatial") == ["spatial", "channel"]
    assert choices(tilesim, model, "--partition", "second=spatial") == ["spatial", "spatial"]


def test_auto_says_what_it_tried(tilesim: Any, tmp_path: Path) -> None:
    found = partition(tilesim, workload(tmp_path), "--partition", "auto")
    assert found["asked"] == "auto"
    assert [set(layer) for layer in found["layers"]] == [{"layer", "choice", "reason", "map"}] * 2
    assert [each["name"] for each in found["candidates"]][:3] == ["mixed", "spatial", "channel"]
    result = tilesim("run", workload(tmp_path), "-t", "edge-2x4", "--partition", "auto")
    [line] = [line for line in result.stdout.splitlines() if line.startswith("partition ")]
    fastest = min(found["candidates"], key=lambda each: each["cycles"])
    assert f"fastest of {len(found['candidates'])} tried was {fastest['name']}" in line


def test_nothing_is_said_where_nothing_is_asked(tilesim: Any, tmp_path: Path) -> None:
    words = ("-t", "edge-2x4")
    assert "\npartition" not in tilesim("run", workload(tmp_path), *words).stdout
    asked = tilesim("run", workload(tmp_path), *words, "--partition", "channel").stdout
    assert "partition   channel: 2 of 2 layers by channel\n" in asked


def test_a_saved_program_keeps_it(tilesim: Any, tmp_path: Path) -> None:
    model, saved = workload(tmp_path), tmp_path / "saved.tbin"
    assert tilesim("compile", model, "-t", "edge-2x4", "--partition", "auto", "-o", saved).exit_code == 0
    result = tilesim("run", saved, "--json")
    assert json.loads(result.stdout)["partition"] == partition(tilesim, model, "--partition", "auto")


def test_chips_are_compared_with_the_same_words(tilesim: Any, tmp_path: Path) -> None:
    words = ("run", workload(tmp_path), "-t", "edge-1x1", "-t", "edge-2x4", "--json", "--partition", "channel")
    found = [run["partition"]["layers"] for run in json.loads(tilesim(*words).stdout)]
    assert [[layer["choice"] for layer in layers] for layers in found] == [["spatial"] * 2, ["channel"] * 2]


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (("chanel",), ["--partition chanel: must be a choice, not 'chanel'; did you mean 'channel'?"]),
        (
            ("mixed", "second=mixed"),
            ["--partition second=mixed: must be a choice, not 'mixed' (one of auto, channel, one, spatial)"],
        ),
        (
            ("frist=channel", "9=auto", "second=all"),
            [
                "--partition second=all: must be a choice, not 'all' (one of auto, channel, one, spatial)",
                "--partition frist=channel: must name a layer of small; did you mean first?",
                "--partition 9=auto: must name a layer of small",
            ],
        ),
        (("spatial", "auto"), ["--partition: must be one choice for all layers, not spatial and auto"]),
        (
            ("0=channel", "first=auto"),
            ["--partition: layer 0 of {model} must be given once, not 2 times"],
        ),
    ],
)
def test_bad_words(tilesim: Any, tmp_path: Path, words: tuple[str, ...], sentences: list[str]) -> None:
    model = workload(tmp_path)
    given = [part for word in words for part in ("--partition", word)]
    result = tilesim("run", model, "-t", "edge-2x2", *given)
    lines = [f"error: {sentence.format(model=model)}" for sentence in sentences]
    assert (result.exit_code, result.stdout, result.stderr.splitlines()) == (2, "", lines)


def test_a_program_is_compiled_already(tilesim: Any, tmp_path: Path) -> None:
    saved = tmp_path / "saved.tasm"
    assert tilesim("compile", workload(tmp_path), "-t", "edge-2x2", "-o", saved).exit_code == 0
    result = tilesim("run", saved, "--partition", "auto")
    assert (result.exit_code, result.stderr) == (
        2,
        f"error: --partition applies to models that are compiled, not to {saved}, a program\n",
    )


def test_a_workload_with_a_bad_word(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("run", workload(tmp_path, ", partition: rows"), "-t", "edge-2x2")
    assert result.exit_code == 2
    assert "partition must be" in result.stderr
    assert "Traceback" not in result.stderr


def test_it_says_why_a_layer_is_not_spread_as_asked(tilesim: Any, tmp_path: Path) -> None:
    words = ("digits", "--partition", "depthwise=channel", "--partition", "0=channel")
    sentences = [
        "layer 0, in0, could not be spread by channel: it runs at the host",
        "layer 2, depthwise, could not be spread by channel: it follows the grid, as its input does",
    ]
    lines = tilesim("run", *words, "-t", "edge-1x2").stdout.splitlines()
    assert [line for line in lines if line.startswith("layer ")] == sentences
    made = tilesim("compile", *words, "-t", "edge-1x2", "-o", tmp_path / "p.tasm")
    assert made.stdout.splitlines()[1:] == sentences
    compared = tilesim("run", *words, "-t", "edge-1x2", "-t", "edge-2x2").stdout.splitlines()
    assert compared[-4:] == [f"{chip}: {sentence}" for chip in ("edge-1x2", "edge-2x2") for sentence in sentences]


def test_one_tile_is_for_fully_connected_layers(tilesim: Any) -> None:
    words = ("run", "digits", "-t", "edge-1x2", "--partition", "classifier=one", "--partition", "stem=one")
    lines = tilesim(*words).stdout.splitlines()
    said = "layer 1, stem, could not be kept in one tile: nothing else is asked for"
    assert [line for line in lines if line.startswith("layer ")] == [said]


def test_parameters_go_over_the_mesh_where_that_is_asked_for_and_can_be(tilesim: Any) -> None:
    words = ("run", "digits", "-t", "edge-2x2", "--set", "wide_memory.size_bytes=16 KiB", "--parameters-over")
    ring, mesh = (tilesim(*words, way, "--set", "mesh.destination=wide", "--json").stdout for way in ("ring", "mesh"))
    assert json.loads(mesh)["bytes"]["mesh"]["entered"] > json.loads(ring)["bytes"]["mesh"]["entered"]
    refused = "error: edge-2x2: mesh.destination must be wide for parameters over the mesh, not narrow\n"
    assert tilesim(*words, "mesh").stderr == refused
    unknown = "error: --parameters-over must be auto, ring or mesh, not 'rign'; did you mean 'ring'?\n"
    assert tilesim(*words, "rign").stderr == unknown


def test_a_layer_that_is_spread_as_asked_needs_no_words(tilesim: Any, tmp_path: Path) -> None:
    words = (workload(tmp_path), "-t", "edge-2x4", "--partition", "first=channel", "--partition", "second=auto")
    assert "could not" not in tilesim("run", *words).stdout


def test_a_layer_has_the_order_of_loops_that_is_asked_for(tilesim: Any, tmp_path: Path) -> None:
    def outermost(more: str, *words: str) -> list[str]:
        saved = tmp_path / "saved.tasm"
        model = workload(tmp_path, more)
        assert tilesim("compile", model, "-t", "edge-1x1", "-o", saved, *words).exit_code == 0
        nests = re.findall(r"tensorop.*?nest[= ]+\S*?(\w+):", saved.read_text(), re.DOTALL)
        return nests[:2]

    spatially = ("--partition", "spatial")
    assert outermost("") == ["zb", "zb"]
    assert outermost("", "--loop-order", "second=rows") == ["zb", "y"]
    assert outermost("", *spatially) == ["y", "y"]
    assert outermost("", *spatially, "--loop-order", "second=blocks") == ["y", "zb"]
    assert outermost(", loop_order: blocks", *spatially) == ["y", "zb"]
    assert outermost(", loop_order: blocks", "--loop-order", "1=rows", "--loop-order", "first=blocks") == ["zb", "y"]


BAD_ORDERS = {
    "second": "--loop-order must be LAYER=ORDER, with an order of rows, blocks, pixels, inputs, not second",
    "second=blcks": "--loop-order must be LAYER=ORDER, with an order of rows, blocks, pixels, inputs, not second=blcks",
    "pool=rows": "--loop-order pool=rows: must name a layer with weights, not one of the kind maxpool",
    "deep=inputs": "--loop-order deep=inputs: must be rows, blocks or pixels, not 'inputs'",
}


@pytest.mark.parametrize("word", BAD_ORDERS)
def test_bad_orders_of_loops(tilesim: Any, tmp_path: Path, word: str) -> None:
    model = workload(tmp_path)
    more = ("{name: deep, kind: depthwise_convolution, kernel: [1, 1]}", "{name: pool, kind: max_pool, window: [1, 1]}")
    model.write_text(model.read_text() + "".join(f"  - {layer}\n" for layer in more))
    result = tilesim("run", model, "-t", "edge-1x1", "--loop-order", word)
    assert (result.exit_code, result.stdout) == (2, "")
    assert BAD_ORDERS[word] in result.stderr


def test_bands_may_be_forbidden(tilesim: Any, tmp_path: Path) -> None:
    chip = ("-t", "edge-1x1", "--set", "narrow_memory.size_bytes=3KiB")
    words = ("compile", "example-residual", *chip, "-o", tmp_path / "p.tasm")
    assert tilesim(*words).exit_code == 0
    refused = tilesim(*words, "--no-bands")
    assert refused.exit_code == 2
    assert "tensor input must fit the narrow memory of edge-1x1: it needs 4.52 KiB" in refused.output

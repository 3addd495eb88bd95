"""``tilesim cache``: the plan for people and for scripts, and what is said of bad words."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tilesim.shipped import shipped


def small(kib: int) -> tuple[str, ...]:
    """Two tiles with so little wide memory that not everything stays."""
    return "--topology", "edge-1x2", "--set", f"wide_memory.size_bytes={kib}KiB"


TWO = ("cache", "digits", "example-residual", *small(20), "--partition", "spatial")


def homes(tilesim: Any, *words: object) -> dict[str, list[str]]:
    """Where the sets of each layer live, by network and layer."""
    result = tilesim(*words, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return {
        f"{network['name']}:{layer['layer']}": [each["home"] for each in layer["sets"]]
        for network in json.loads(result.stdout)["networks"]
        for layer in network["layers"]
    }


def test_a_plan_for_people(tilesim: Any) -> None:
    result = tilesim(*TWO)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [re.split(" {2,}", line.strip()) for line in result.stdout.splitlines()]
    assert lines[0] == ["digits, example-residual on edge-1x2"]
    assert lines[2:10] == [
        ["layer of digits", "bytes", "where", "too little room in"],
        ["1", "stem", "1.5 KiB", "streamed", "tile 0: < 768 B"],
        ["2", "depthwise", "1 KiB", "split over 2", "tile 0: < 768 B"],
        ["3", "down", "5.75 KiB", "2 home tiles", "tile 1: < 256 B"],
        ["4", "residual, 1-2 of 8", "2.5 KiB", "2 home tiles", "tile 1: < 256 B"],
        ["4", "residual, 3-7 of 8", "6.25 KiB", "streamed in 5", "tile 0: < 768 B"],
        ["4", "residual, 8 of 8", "2 KiB", "home tile 1", "tile 0: < 256 B"],
        ["8", "classifier", "2.75 KiB", "tile 0"],
    ]
    totals = {line[0]: line[1:] for line in lines}
    assert totals["0-1"] == ["20 KiB", "0 B", "12.75 KiB", "7 KiB", "256 B"]
    assert totals["parameters"] == ["38 KiB of 32 MiB of data memory"]
    assert totals["cached"] == ["14 KiB of 40 KiB of wide memory, copies counted"]
    assert totals["loading"] == ["14 KiB once, in 7,168 cycles or more"]
    assert totals["streamed"] == ["24 KiB an inference, in 12,288 cycles or more"]
    assert totals["descriptors"] == ["6 for loading"]
    assert totals["runs"] == ["3 in data memory, cached or not (5 in order of use)"]


@pytest.mark.parametrize("topology", ["edge-2x2", "edge-4x4"])
def test_a_line_for_each_layer_of_a_real_model(tilesim: Any, models: Path, topology: str) -> None:
    """Layers with long names, in several sets."""
    result = tilesim("cache", models / "coral_tf2_mnv2_ptq" / "model.tflite", "-t", topology, "--partition", "spatial")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [re.split(" {2,}", line.strip()) for line in lines[3 : lines.index("", 3)]]
    assert all(row[0].isdigit() for row in rows)
    names = [row[1] for row in rows]
    assert len(set(names)) == len(names) >= 53
    assert names[:2] == ["Conv2d_0_0", "expanded_conv_1/depthwise"]


def test_tiles_that_are_alike_share_a_line(tilesim: Any) -> None:
    lines = tilesim("cache", "digits", "-t", "edge-4x4").stdout.splitlines()
    tiles = [line for line in lines if "512 KiB  " in line]
    assert [line.split()[0] for line in tiles] == ["0", "1-15"]
    assert any(" stem " in line and line.rstrip().endswith("16 copies") for line in lines)
    assert any(" classifier " in line and line.rstrip().endswith("tile 0") for line in lines)


def test_what_is_split_says_over_how_many_tiles(tilesim: Any) -> None:
    words = ("cache", "digits", "-t", "edge-2x4", "--set", "wide_memory.size_bytes=16KiB")
    split = homes(tilesim, *words)["digits:4"]
    assert split == ["home tiles"]
    [layer] = [line for line in tilesim(*words).stdout.splitlines() if " residual " in line]
    document = json.loads(tilesim(*words, "--json").stdout)
    [entry] = next(layer for layer in document["networks"][0]["layers"] if layer["layer"] == 4)["sets"]
    assert f"split over {len(entry['home_tiles'])}" in layer
    assert (entry["home_tile"], entry["cached_bytes"] >= entry["bytes_per_tile"]) == (None, True)
    assert entry["reason"].endswith(f", but {len(entry['home_tiles'])} tiles together")
    assert document["cached_bytes"] == sum(tile["cached_bytes"] for tile in document["tiles"])


def test_json_is_the_plan(tilesim: Any) -> None:
    found = homes(tilesim, *TWO)
    assert [*found] == [f"digits:{k}" for k in (1, 2, 3, 4, 8)] + [f"example-residual:{k}" for k in (0, 1, 2)]
    assert found["digits:4"] == [*["home tile"] * 2, *["streamed"] * 5, "home tile"]
    assert found["digits:2"] == ["home tiles"]


@pytest.mark.parametrize(
    "words",
    [
        ("--priority", "example-residual"),
        ("--priority", "example-residual, digits"),
        ("--layer-priority", "example-residual:first"),
        ("--layer-priority", "example-residual:0"),
    ],
)
def test_the_more_important_is_cached(tilesim: Any, words: tuple[str, ...]) -> None:
    assert homes(tilesim, *TWO)["example-residual:0"] == ["streamed"]
    assert homes(tilesim, *TWO, *words)["example-residual:0"] == ["home tile"]


def test_a_single_network_need_not_be_named(tilesim: Any) -> None:
    alone = ("cache", "digits", *small(14))
    named = homes(tilesim, *alone, "--layer-priority", "digits:stem")
    assert (homes(tilesim, *alone)["digits:8"], named["digits:8"]) == (["copy"], ["home tile"])
    assert homes(tilesim, *alone, "--layer-priority", "stem") == named


def test_networks_of_one_name_are_told_apart_by_file(tilesim: Any, tmp_path: Path) -> None:
    words = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        words.append(tmp_path / folder / "net.onnx")
        shutil.copy(shipped("workloads") / "digits.onnx", words[-1])
    found = homes(tilesim, "cache", *words, *small(14), "--layer-priority", f"{words[1]}:classifier")
    assert [found[f"{word}:8"] for word in words] == [["home tile"], ["copy"]]
    unclear = tilesim("cache", *words, *small(14), "--priority", "net", "--layer-priority", "net:8")
    both = f"{words[0]}, {words[1]}"
    assert unclear.stderr.splitlines() == [
        f"error: --priority net: must name one of {both}, not 2",
        f"error: --layer-priority net:8: must name one of {both}, not 2",
    ]
    assert max(map(len, tilesim("cache", *words, *small(14)).stdout.splitlines()[2:])) <= 80


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (
            ("digits", "dgits", "digits", "none.onnx"),
            [
                "digits: must be given once, not 2 times",
                "dgits: there is no such workload; did you mean digits?",
                "none.onnx: there is no such file",
            ],
        ),
        (
            ("digits", "pocket", "--priority", "digts,none", "--layer-priority", "digits:stm,9,pocket:77,digits:0"),
            [
                "--priority digts: must name one of digits, pocket; did you mean digits?",
                "--priority none: must name one of digits, pocket",
                ("--layer-priority digits:stm: must name a layer of digits that has parameters; did you mean stem?"),
                "--layer-priority 9: must be MODEL:LAYER, with one of digits, pocket",
                "--layer-priority pocket:77: must name a layer of pocket that has parameters",
                "--layer-priority digits:0: must name a layer of digits that has parameters",
            ],
        ),
        (
            ("digits", "--priority", "", "--layer-priority", "stem, ,down"),
            [
                "--priority must be names with commas between them, not nothing",
                "--layer-priority must be names with commas between them, not 'stem, ,down'",
            ],
        ),
        (
            ("digits", "--set", "data_memory.size_bytes=1KiB"),
            [
                "digits: its parameters must fit the data memory of edge-1x1: 20.25 KiB are needed, of 1 KiB",
            ],
        ),
        (
            ("digits", "example-residual", "--set", "data_memory.size_bytes=30KiB"),
            [
                (
                    "digits, example-residual: their parameters must fit the data memory of edge-1x1: "
                    "36.5 KiB are needed, of 30 KiB"
                ),
            ],
        ),
        (
            ("digits", "example-residual", "--set", "wide_memory.size_bytes=12KiB"),
            [
                (
                    "example-residual: parameters of layer second must fit the wide memory of edge-1x1: "
                    "9.75 KiB are needed at once, 6 KiB of 12 KiB are free"
                ),
            ],
        ),
        (("digits", "--set", "grid.rows"), ["--set grid.rows: must be KEY=VALUE, such as grid.rows=2"]),
    ],
)
def test_faults_are_said_all_at_once(tilesim: Any, words: tuple[str, ...], sentences: list[str]) -> None:
    result = tilesim("cache", *words, "--topology", "edge-1x1", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.removeprefix("error: ") for line in result.stderr.splitlines()] == sentences


def test_a_chip_without_room_to_cache(tilesim: Any) -> None:
    """The peak alone is 10.75 KiB."""
    words = ("cache", "digits", "-t", "edge-1x2", "--set", "wide_memory.size_bytes=10.75KiB")
    lines = tilesim(*words).stdout.splitlines()
    assert [line.split()[-5:] for line in lines[3:8]] == [["streamed", "tile", "0:", "none", "left"]] * 5
    assert [line.split()[-4:] for line in lines if line.startswith("0-1 ")] == [["0", "B", "0", "B"]]


@pytest.mark.parametrize("words", [("cache", "digits"), ("check", "digits"), ("compile", "digits", "-o", "p.tasm")])
def test_only_one_chip_is_taken(tilesim: Any, words: tuple[str, ...]) -> None:
    result = tilesim(*words, "-t", "edge-1x1", "-t", "edge-1x2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: --topology must be given once, not 2 times; `tilesim run` compares chips\n"
    assert tilesim(*words).stderr.startswith("error: --topology must name a chip; ")


@pytest.mark.parametrize("choice", ["channel", "auto"])
def test_parameters_live_where_a_run_has_them(tilesim: Any, tmp_path: Path, choice: str) -> None:
    """By channel, each tile has its own part of a layer's parameters."""
    (tmp_path / "small.yaml").write_text(
        "seed: 1\ninput: {shape: [1, 2, 2, 256]}\n"
        "layers: [{name: first, kind: convolution, filters: 512, kernel: [1, 1]}]\n"
    )
    chip = (tmp_path / "small.yaml", "-t", "edge-2x4")
    run = json.loads(tilesim("run", *chip, "--partition", choice, "--json").stdout)
    assert run["partition"]["layers"][0]["choice"] == "channel"
    assert homes(tilesim, "cache", *chip)["small:0"] != ["partition"]
    assert homes(tilesim, "cache", *chip, "--partition", choice)["small:0"] == ["partition"]


def test_a_network_without_a_layer_for_tiles_is_refused(tilesim: Any, tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text("input: {shape: [1, 4, 4, 4]}\nlayers: [{name: a, kind: normalise}]\n")
    result = tilesim("cache", path, "--topology", "edge-1x1")
    assert result.exit_code == 2
    assert "net: must have a layer for tiles, not only such as the host computes" in " ".join(result.stderr.split())

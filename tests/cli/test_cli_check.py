"""What ``tilesim check`` promises, on the guided programs among others."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tilesim.shipped import shipped

GUIDED = shipped("workloads") / "dual-master"
REFUTED = {"overlap": "tile 1", "shared-node": "tile 3", "wraps-overlap": "tile 0"}


@pytest.mark.parametrize("name", ["legal", "wraps"])
def test_legal_programs_are_proven_and_run(tilesim: Any, name: str) -> None:
    result = tilesim("check", GUIDED / f"{name}.tasm", "--topology", "ring-8")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{name} on ring-8: proven\n")
    assert tilesim("run", GUIDED / f"{name}.tasm").exit_code == 0


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_refuted_meets_as_the_check_says(tilesim: Any, name: str) -> None:
    result = tilesim("check", GUIDED / f"{name}.tasm")
    assert result.exit_code == 2
    assert f"can meet at {REFUTED[name]} (they share " in result.stdout
    [command] = re.findall(r"to see them meet: tilesim (.*)", result.stdout)
    observed = tilesim(*shlex.split(command), "--json")
    assert [each["kind"] for each in json.loads(observed.stdout)["findings"]] == ["meeting"]
    strict = tilesim(*shlex.split(command.replace("observe", "strict")))
    assert strict.exit_code == 3


def test_all_guided_programs_are_here() -> None:
    assert {path.stem for path in GUIDED.iterdir()} == {"legal", "wraps", *REFUTED}


def test_a_model_is_compiled_first(tilesim: Any) -> None:
    result = tilesim("check", "digits", "--topology", "edge-1x2")
    lines = result.stdout.splitlines()
    assert (result.exit_code, lines[0]) == (0, "digits on edge-1x2: proven")
    assert re.fullmatch(
        r"  \d+ transfers on the ring, \d+ pairs: .* of the same master, .* in a proven order", lines[1]
    )
    assert tilesim("check", "digits").exit_code == 2


def test_json_says_the_same(tilesim: Any) -> None:
    result = tilesim("check", GUIDED / "overlap.tasm", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 2
    assert (document["schema"], document["proven"], document["together"]) == ("tilesim.check/1", False, [])
    [refutation] = document["programs"][0]["refutations"]
    assert refutation["start_times"].keys() == {"first.send", "other.send"}


def test_several_programs_share_a_chip(tilesim: Any, tmp_path: Path) -> None:
    head, _, run = (GUIDED / "wraps.tasm").read_text().partition(".load")
    region = ".region name=parameters memory=wide tiles=0x2 address={} bytes=64\n"
    staging = '.region name="staging" memory=wide tiles=0xff address={} bytes=64\n'
    paths = []
    for name, address in (("a", 0), ("b", 0x20)):
        text = head.replace("name=wraps", f"name={name}") + region.format(address)
        everywhere = staging.format(0x80) + '.region name="sent" memory=wide tiles=0x44 address=0 bytes=64\n'
        paths.append(tmp_path / f"{name}.tasm")
        paths[-1].write_text(f"{text}{everywhere}.load{run}")
    result = tilesim("check", *paths)
    assert result.exit_code == 2
    assert "a and b: their regions parameters and parameters must not overlap" in result.stdout


def test_models_are_checked_as_run_compiles_them(tilesim: Any) -> None:
    """Alone, each would put its parameters where the other has them."""
    both = ("digits", "example-conv", "--topology", "edge-1x2")
    together = tilesim("check", *both, "--json")
    assert (together.exit_code, json.loads(together.stdout)["together"]) == (0, [])
    cached, streamed = (json.loads(tilesim("check", *both, *more, "--json").stdout) for more in ((), ("--no-cache",)))
    assert [each["transfers"] for each in cached["programs"]] != [each["transfers"] for each in streamed["programs"]]
    spread = tilesim(
        "check", *both, "--partition", "auto", "--priority", "example-conv", "--layer-priority", "digits:1"
    )
    assert (spread.exit_code, spread.stderr) == (0, "")


def test_programs_and_models_may_be_mixed(tilesim: Any, tmp_path: Path) -> None:
    chip = ("--topology", "edge-1x2")
    assert tilesim("compile", "digits", *chip, "-o", tmp_path / "p.tbin").exit_code == 0
    result = tilesim("check", "example-conv", tmp_path / "p.tbin", *chip)
    assert [line for line in result.stdout.splitlines() if " on edge-1x2" in line] == [
        "example-conv on edge-1x2: proven",
        "digits on edge-1x2: proven",
    ]
    assert "must not overlap" in result.stdout
    alone = tilesim("check", tmp_path / "p.tbin", "--no-cache", "--priority", "digits")
    assert alone.stderr.splitlines() == [
        f"error: --no-cache is about compiling, but {tmp_path / 'p.tbin'} is a program",
        f"error: --priority is about compiling, but {tmp_path / 'p.tbin'} is a program",
        "error: --priority must be left out, as --no-cache leaves nothing in the tiles",
    ]

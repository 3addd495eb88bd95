"""What ``tilesim verify`` promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.tiled.dataflow.agreement import COMPILED
from tests.tiled.mutants import MUTANTS, at_large
from tests.tiled.programs import program
from tilesim import save_program
from tilesim.shipped import shipped

OVERLAP = shipped("workloads") / "dual-master" / "overlap.tasm"
[HOP] = (mutant for mutant in MUTANTS if mutant.name == "ring hop")


def test_a_model_on_which_both_models_agree(tilesim: Any) -> None:
    result = tilesim("verify", "pocket", "--topology", "pocket-2x1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "pocket on pocket-2x1: simpy and stepped agree\n"
        "177 cycles of loading and 225 of the run, all outputs, and what each of 38 units and links did in them\n"
    )


def test_a_program_that_does_not_end_as_it_should(tilesim: Any, tmp_path: Path) -> None:
    take = "take: ring_consume tiles=0x4 write=[r:8,b:1 @0x40+r*16]"
    save_program(program(take, grid__rows=3), tmp_path / "hang.tasm")
    for path, end in ((OVERLAP, "transfers met on the ring"), (tmp_path / "hang.tasm", "the run program hangs")):
        result = tilesim("verify", path)
        assert (result.exit_code, result.stderr) == (0, "")
        first, second = result.stdout.splitlines()
        assert first.endswith(f": simpy and stepped agree that {end}")
        assert second == "nothing else was compared; tilesim run says why"


def test_a_difference_is_shown(tilesim: Any) -> None:
    with at_large(HOP):
        result = tilesim("verify", "pocket", "-t", "pocket-2x1")
        document = json.loads(tilesim("verify", "pocket", "-t", "pocket-2x1", "--json").stdout)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "pocket on pocket-2x1: simpy and stepped differ"
    assert lines[1] == (
        "first in cycle 14 of the load program: chip.ring.link1, simpy: busy in parameters0.send; stepped: idle"
    )
    assert lines[3].split() == ["unit", "what", "simpy", "stepped"]
    assert lines[4].split() == ["the", "run", "load", "cycles", "177", "178"]
    assert lines[-1].startswith("and ")
    assert (document["schema"], document["agree"]) == ("tilesim.verify/3", False)
    assert document["divergence"]["track"] == "chip.ring.link1"
    assert document["differences"][0] == {"track": "", "what": "load_cycles", "one": "177", "other": "178"}


@COMPILED
def test_two_engines(tilesim: Any) -> None:
    result = tilesim("verify", "pocket", "-t", "pocket-2x1", "--engines", "compiled,simpy")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "pocket on pocket-2x1: compiled and simpy agree")
    document = json.loads(
        tilesim("verify", "pocket", "-t", "pocket-2x1", "--engines", "simpy, compiled", "--json").stdout
    )
    assert document["models"] == ["simpy", "compiled"]


def test_json_and_inputs(tilesim: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", in0=np.ones((1, 4, 4, 4), np.int8))
    result = tilesim("verify", "pocket", "-t", "pocket-2x1", "--inputs", tmp_path / "in.npz", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (document["agree"], document["end"], document["cycles"]) == (True, "ended", 225)
    assert (document["program"], document["topology"]) == ("pocket", "pocket-2x1")


def test_faults_are_sentences(tilesim: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", in0=np.ones((2, 4, 4, 4), np.int8))
    result = tilesim("verify", "pocket", "-t", "pocket-2x1", "--inputs", tmp_path / "in.npz")
    assert result.exit_code == 2
    assert result.stderr.endswith("in.npz: input 'input' must hold one sample, not 2\n")
    assert tilesim("verify", "pocket").exit_code == 2
    alone = tilesim("verify", "pocket", "-t", "pocket-2x1", "--engines", "simpy")
    assert (alone.exit_code, alone.stderr) == (
        2,
        "error: engines must be two of simpy, compiled, stepped, not 'simpy'\n",
    )
    assert tilesim("verify", "nothing-here", "-t", "pocket-2x1").exit_code == 2

"""Programs whose accesses nothing orders, observed: what they do to each other's bytes is told and seen in the bits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from random import Random
from typing import Any

import numpy as np
import pytest

import tilesim as api
from tests.tiled.programs import program
from tests.tiled.rules.arena import mixed
from tests.tiled.stepped.test_agreement import accounts
from tilesim import simulate
from tilesim.errors import HangError, InputError, ProgramError
from tilesim.findings import sentence
from tilesim.machines.holds import holds
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.instructions import ScalarFence, TileFence
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.soundness import unrunnable, unsound
from tilesim.tiled.run.delayed_issue import tiles_of

RUN = """
take: ring_consume tiles=0x4 write=[r:4 @0x0+r*16]
send: ring_produce tiles=0x1 read=[r:4 @0x0+r*16] to=0x4
down: wide_to_narrow tiles=0x4 read=[r:4 @0x0+r*16] write=[r:4,w:4 @0x0+r*16+w*4]
"""
"""Nothing makes the last one wait for the rows of the first."""


def findings(**held: int) -> list[dict[str, Any]]:
    run = simulate(program(RUN, grid__rows=3), [], rules="observe", holds=held)
    return run.statistics["findings"]  # type: ignore[no-any-return]


def test_what_touched_the_same_bytes_in_the_wrong_order_is_told() -> None:
    """The row that is taken in cycle 101 is read in 18; each of the others is taken two cycles after that before it."""
    [finding] = findings(send=98)
    assert finding == {
        "kind": "touched",
        "section": "run",
        "tile": 2,
        "memory": "wide",
        "bytes": [0, 63],
        "count": 64,
        "instructions": ["take", "down"],
        "accesses": ["wrote", "read"],
        "cycle": 18,
        "until": 107,
    }
    assert sentence(finding) == (
        "in cycle 18 down read wide memory of tile 2 between 0x0 and 0x3f too early (64 bytes): take, which comes "
        "first in the program but which nothing orders before it, wrote there until cycle 107"
    )
    assert json.loads(json.dumps(finding)) == finding


def test_what_comes_in_the_right_order_is_not() -> None:
    assert findings() == findings(down=200) == []


def test_a_part_may_be_too_early() -> None:
    """The last row is read after it has been taken, the others before."""
    [finding] = findings(send=18)
    assert (finding["bytes"], finding["count"]) == ([0, 47], 48)


def test_what_no_hardware_could_run_stays_refused() -> None:
    with pytest.raises(ProgramError, match="must be"):
        simulate(program(RUN.replace("@0x0+r*16] to=0x4", "@0x8+r*16] to=0x4"), grid__rows=3), [], rules="observe")
    with pytest.raises(ProgramError, match="nothing orders"):
        api.simulate_requests([program(RUN, grid__rows=3)], [[]], rules="observe")
    with pytest.raises(InputError, match="tensors can only be kept"):
        simulate(program(RUN, grid__rows=3), [], keep_tensors=True, rules="observe")


def without_a_wait(made: Program, random: Random) -> Iterator[Program]:
    """Copies of a program from which one watcher is missing."""
    places = [(place, k) for place, op in enumerate(made.run) for k in range(len(getattr(op, "wait", ())))]
    random.shuffle(places)
    for place, k in places:
        op: Any = made.run[place]
        fewer = replace(op, wait=op.wait[:k] + op.wait[k + 1 :])
        yield replace(made, run=(*made.run[:place], fewer, *made.run[place + 1 :]))


@pytest.mark.parametrize(("samples", "runs"), [(2, 8), pytest.param(1, 400, marks=pytest.mark.soak)])
def test_bits_differ_only_with_a_finding(samples: int, runs: int) -> None:
    """Of a compiled program without one of its waits; without a finding its outputs are as they should be."""
    made = api.compile(api.load_network("pocket"), api.load_topology("edge-1x2"))
    [tensor] = made.inputs
    x = np.random.default_rng(5).integers(-128, 128, (samples, *tensor.shape[1:])).astype(tensor.dtype)
    [right] = simulate(made, [x]).outputs
    random = Random(5)  # noqa: S311  (no secret)
    told, differing = 0, 0
    for weak in islice(cycle(without_a_wait(made, random)), runs):
        labels = [op.label for op in weak.run if not isinstance(op, TileFence | ScalarFence)]
        held = {random.choice(labels): random.randrange(400)}
        try:
            run = simulate(weak, [x], rules="observe", holds=held)
        except HangError:
            continue
        same = np.array_equal(run.outputs[0], right)
        assert same or run.statistics["findings"], held
        told += bool(run.statistics["findings"])
        differing += not same
    assert told >= differing > 0


@pytest.mark.parametrize("programs", [25, pytest.param(1000, marks=pytest.mark.soak)])
def test_both_models_agree_on_what_is_observed(programs: int) -> None:
    """With held instructions, transfers that meet, and accesses that nothing orders."""
    kinds = set()
    for seed in range(programs):
        random = Random(seed)  # noqa: S311  (no secret)
        made = mixed(random).program()
        labels = [op.label for op in made.run if not isinstance(op, TileFence | ScalarFence)]
        held = {label: random.randrange(80) for label in random.sample(labels, random.randint(0, len(labels)))}
        assert not unrunnable(made)
        outcome = stepped.simulate(made, [], observes=True, holds=holds(made, held, tiles_of))
        try:
            run = simulate(made, [], rules="observe", holds=held)
        except HangError:
            assert outcome.hung == "run"
            continue
        kinds |= {finding["kind"] for finding in run.statistics["findings"]}
        assert (outcome.hung, outcome.cycles) == ("", run.cycles)
        assert {track: {k: v for k, v in kind.items() if v} for track, kind in outcome.units.items()} == accounts(
            run.statistics
        )
    assert "meeting" in kinds


def test_a_sound_program_is_run_once() -> None:
    """Its outputs are those of the one model."""
    made = mixed(Random(3)).program()  # noqa: S311  (no secret)
    assert not unsound(made)
    assert simulate(made, [], rules="observe").statistics["findings"] == []

"""Laws that hold for all programs, on random ones written by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.systolic.handmade import Listing, multiply, some, topology
from tilesim.machines.options import RunOptions
from tilesim.run import Run
from tilesim.sim.core.clock import Clock
from tilesim.sim.trace.recorder import Recording
from tilesim.systolic.isa.model.instructions import (
    Combine,
    Copy,
    Fill,
    Instruction,
    Nest,
    Queue,
    ReadHostMemory,
    ReadWeights,
    WriteHostMemory,
)
from tilesim.systolic.isa.model.program import HostTensor, Layer, Program
from tilesim.systolic.run.simulate import simulate
from tilesim.systolic.topology import Topology

AREA = 64
KINDS = ("read", "write", "weights", "reuse", "fill", "copy", "add")
PLANS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 24), st.booleans(), st.integers(0, 2)), max_size=14)
RULE = {"rule": "double", "scaling": (0, 1 << 30, 1, 0, 1 << 30, 1, 0, 1 << 30, -20), "clamp": (-128, 127)}


def program(plan: list[tuple[str, int, bool, int]], chip: Topology) -> Program:
    """What ``plan`` says: kind, size, whether it waits for all that is before it in another queue, layer."""
    listing = Listing()
    listing.add(ReadWeights(tiles=1))
    listing.add(multiply(vectors=1, elements=2, columns=2, switch=True))
    for kind, size, waits, layer in plan:
        op = _instruction(kind, size, layer)
        assert op.queue is not None
        if waits:
            until = Queue.MATRIX if op.queue is Queue.VECTOR else Queue.VECTOR
            until = Queue.DMA_IN if op.queue is Queue.MATRIX else until
            listing.sync(op.queue, until, listing.counts[until], layer)
        if kind == "weights":
            listing.add(ReadWeights(tiles=1 + size % 2, layer=layer))
            listing.add(op)
            if size % 2:
                listing.add(multiply(elements=2, columns=2, switch=True, layer=layer))
        else:
            listing.add(op)
    layers = Layer("L0", "any", 40), Layer("L1", "any", 40), Layer("L2", "any", 0, "vector")
    return Program(
        "random", chip, (), listing.halt(), layers=layers,
        inputs=(HostTensor("x", 0, "int8", (AREA,), (0,), "int8"),),
    )  # fmt: skip


def _instruction(kind: str, size: int, layer: int) -> Instruction:
    here, there = Nest(0, size), Nest(2 * AREA, size)
    made: dict[str, Any] = {
        "read": lambda: ReadHostMemory(bytes=size, layer=layer),
        "write": lambda: WriteHostMemory(bytes=size, layer=layer),
        "weights": lambda: multiply(vectors=size, elements=2, columns=2, switch=True, layer=layer),
        "reuse": lambda: multiply(vectors=size, elements=3, columns=2, layer=layer),
        "fill": lambda: Fill(destination=here, value=size, layer=layer),
        "copy": lambda: Copy(source=here, destination=there, layer=layer),
        "add": lambda: Combine(a=here, b=there, destination=there, layer=layer, **RULE),
    }
    op: Instruction = made[kind]()
    return op


def run(of: Program, trace: bool = False) -> Run:
    outputs = (HostTensor("y", 1, "int8", (24,), (0,), "int8"),)
    last = WriteHostMemory(label="last", bytes=24)
    whole = replace(of, outputs=outputs, run=(*of.run[:-1], last, of.run[-1]))
    return simulate(whole, [some((AREA,))], RunOptions(recording=Recording() if trace else None))


@given(PLANS)
@settings(max_examples=60, deadline=None)
def test_every_cycle_and_every_byte_is_accounted_for(plan: list[Any]) -> None:
    of = program(plan, topology())
    found = run(of)
    statistics = found.statistics
    for unit in (*statistics["units"], *statistics["links"]):
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == found.cycles
    assert sum(statistics["breakdown"].values()) == found.cycles
    links = {link["track"]: link["bytes"] for link in statistics["links"]}
    moved = {way: sum(op.bytes for op in of.run if isinstance(op, kind)) for way, kind in _HOST.items()}
    assert links["chip.host.infeed"] == moved["in"]
    assert links["chip.host.outfeed"] == moved["out"] + 24
    assert links["chip.weight_memory"] == 16 * sum(op.tiles for op in of.run if isinstance(op, ReadWeights))
    matrix = next(unit for unit in statistics["units"] if unit["track"] == "chip.matrix")
    assert matrix["busy_cycles"] == sum(op.vectors for op in of.run if op.mnemonic == "matrix_multiply")
    parts = [layer["cycles"] for layer in statistics["layers"]]
    assert sum(parts) <= found.cycles
    assert all(sum(layer["breakdown"].values()) == layer["cycles"] for layer in statistics["layers"])


_HOST: dict[str, Any] = {"in": ReadHostMemory, "out": WriteHostMemory}


@given(PLANS, st.integers(2, 16), st.integers(1, 3), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_faster_weights_and_a_deeper_fifo_are_never_slower(plan: list[Any], hz: int, tiles: int, times: int) -> None:
    def cycles(hz: int, channels: int, tiles: int) -> int:
        memory = {"clock_hz": hz * 10_000_000, "channels": channels}
        return run(program(plan, topology(weight_memory=memory, weight_fifo={"tiles": tiles}))).cycles

    slow = cycles(hz, 1, tiles)
    assert cycles(hz * times, 1, tiles) <= slow
    assert cycles(hz, 2, tiles) <= slow
    assert cycles(hz, 1, tiles + 1) <= slow


def disorder(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Make clocks take events of one time and phase in no order."""
    plain = Clock.__init__

    def disordered(self: Clock) -> None:
        plain(self)
        self._eid = _shuffled(seed)  # type: ignore[assignment]

    monkeypatch.setattr(Clock, "__init__", disordered)


def _shuffled(seed: int) -> Iterator[int]:
    generator, number = random.Random(seed), 0  # noqa: S311
    while True:
        number += 1
        yield generator.getrandbits(30) << 40 | number


@given(PLANS, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_order_of_events_within_a_cycle_does_not_matter(plan: list[Any], seed: int) -> None:
    of = program(plan, topology(weight_memory={"clock_hz": 270_000_000}))
    first, again = run(of, trace=True), run(of, trace=True)
    with pytest.MonkeyPatch.context() as patch:
        disorder(patch, seed)
        shuffled = run(of, trace=True)
    assert first.json() == again.json() == shuffled.json()
    np.testing.assert_array_equal(first.outputs[0], shuffled.outputs[0])

"""What the array's cycles went into: of the large layer of the book, of programs by hand, of all that is shipped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.rotating.convolutions import Frame, convolution, input_rows, out_plain, w_of, weight_rows, x_of
from tests.rotating.programs import PROLOGUE, Bare, chip
from tests.scripts import ROOT
from tilesim.errors import CapacityError
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Function,
    Instruction,
    Mask,
    Out,
    Parameters,
    Queue,
    ReadHostMemory,
    Rows,
    Set,
    Step,
    Sync,
)
from tilesim.rotating.isa.model.program import Layer, Program
from tilesim.rotating.run.bottleneck import BLOCKS, MACS, PADDING, USEFUL, WORDS, shares
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology
from tilesim.statistics import LayerStatistics

COPY = Step(data=Rows(0), alu=Alu.COPY)


def large(order: str = "claimed") -> Program:
    """O-R4: 12 x 12 x 16, 50 filters of 5 x 5, on 1,024 units."""
    frame = Frame(chip(1024), 16, [[b % 16 for b in range(64)]], [[*range(50), *[-1] * 14]], 16, order=order)
    w = w_of(50, 5, 5, 16)
    ops = [replace(op, layer=0) for op in convolution(frame, w, 12, 8, out_plain(12, 8))]
    bare = Bare(frame.topology, ops, input_rows(frame, x_of(12, 12, 16)), weight_rows(frame, w, 8))
    layer = Layer("large", "convolution", 1_280_000, used_units=50 * 16, output_units=50 * 8)
    return replace(bare.program(), layers=(layer,))


def layer_of(program: Program) -> LayerStatistics:
    [layer] = simulate(program, []).statistics["layers"]
    return layer


def test_the_large_layer_of_the_book() -> None:
    layer = layer_of(large())
    assert layer["cycles"] == 10_248
    found = {cause: round(100 * cycles / 10_248, 2) for cause, cycles in layer["breakdown"].items()}
    assert found == {
        "rotation": 68.70, "useful MACs": 12.20, "words without an output": 12.20, "unused blocks": 6.83,
        "capture": 0.08,
    }  # fmt: skip
    assert layer["bound_by"] == "rotation"
    assert layer["mac_busy_cycles"] == 3_200
    assert layer["mac_utilisation"] == 1_280_000 / (1024 * 10_248)


def test_trimmed_it_only_rotates_less() -> None:
    claimed, trimmed = (layer_of(large(order)) for order in ("claimed", "trimmed"))
    assert trimmed["cycles"] == 9_808
    assert claimed["breakdown"]["rotation"] - trimmed["breakdown"]["rotation"] == 10_248 - 9_808
    assert {cause: claimed["breakdown"][cause] for cause in ("useful MACs", "capture", "unused blocks")} == {
        cause: trimmed["breakdown"][cause] for cause in ("useful MACs", "capture", "unused blocks")
    }


def behind(*array: Instruction, dma: tuple[Instruction, ...] = (), **keys: dict[str, object]) -> dict[str, int]:
    """What a layer's instructions behind the prologue went into."""
    ops = [replace(op, layer=0) for op in array]
    rows = {k: [1] * 8 for k in range(4)}
    program = Bare(chip(8, **keys), ops, rows, rows, dma=dma).program()
    return layer_of(replace(program, layers=(Layer("l", "kind", 5 * 4, used_units=8, output_units=4),)))["breakdown"]


def test_each_slot_by_what_it_does() -> None:
    """Five cycles of multiplying, of which half the units have an output."""
    ops = [
        Step(data=Rows(0), weights=Rows(0), alu=Alu.MULTIPLY_ADD),
        Step(rotate=1, repeat=7),
        Step(rotate=1, weights=Rows(1), alu=Alu.MULTIPLY_ADD, repeat=4),
        Step(weights=Rows(2)),  # it only takes weights: nothing is done with a word
        *(Step(data=Rows(1), alu=alu) for alu in (Alu.ADD, Alu.MAX, Alu.COPY, Alu.PLANE)),
        Step(data=Rows(2)),
        *(Set(rule="single"), Mask(), Out(row=Rows(9))),
    ]
    found = behind(*ops)
    half = {"useful MACs": 3, "words without an output": 2}  # 2.5 each, and all must add up
    assert {cause: found[cause] for cause in half} in (half, {cause: 5 - cycles for cause, cycles in half.items()})
    rest = {cause: cycles for cause, cycles in found.items() if cause not in half}
    assert rest == {"rotation": 8, "element-wise": 5, "capture": 3}


@pytest.mark.parametrize(
    ("array", "keys", "dma", "cause", "cycles"),
    [
        ([Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=1), COPY], {"host": {"latency_cycles": PROLOGUE + 5}},
         (ReadHostMemory(source="data", row=30),), "input stall", 5 + 2),
        ([Parameters(row=Rows(500), set=1), Out(row=Rows(9), set=1)], {}, (), "parameter stall", 9),
        ([Out(row=Rows(9)), Out(row=Rows(10))], {"output": {"words_per_cycle": 1, "buffers": 1}}, (), "output stall",
         9),
        ([Out(row=Rows(9)), Step(data=Rows(9))], {}, (), "RAW stall", 3),
        ([Out(row=Rows(9)), Sync(unit=Queue.ARRAY, until=Counter.OUTPUT, count=1), COPY], {}, (), "RAW stall", 3),
        ([Out(row=Rows(9)), *[COPY] * 3], {}, (), "port stall", 1),
    ],
)  # fmt: skip
def test_each_wait_by_what_is_behind_it(
    array: list[Instruction],
    keys: dict[str, dict[str, object]],
    dma: tuple[Instruction, ...],
    cause: str,
    cycles: int,
) -> None:
    found = behind(*array, dma=dma, **keys)
    assert {name: count for name, count in found.items() if name.endswith("stall")} == {cause: cycles}


@given(st.integers(0, 1 << 40), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 1000), st.integers(2, 4096))
def test_shares_add_up_whatever_the_layer_says_of_itself(
    macs: int, used: int, outputs: int, cycles: int, units: int
) -> None:
    found = shares(Layer("l", "kind", macs, used_units=used, output_units=outputs), cycles, units)
    assert found.total() == cycles
    assert set(found) <= set(MACS)
    assert min(found.values(), default=0) >= 0
    assert abs(found[USEFUL] - min(macs / units, cycles)) < 1


@pytest.mark.parametrize(
    ("layer", "shared"),
    [
        (Layer("l", "k", 40, used_units=8, output_units=4), (10, 0, 10, 0)),
        (Layer("l", "k", 20, used_units=8, output_units=4), (5, 5, 10, 0)),
        (Layer("l", "k", 20, used_units=6, output_units=4), (5, 5, 5, 5)),
        (Layer("l", "k", 40, used_units=0, output_units=0), (10, 0, 0, 10)),
        (Layer("l", "k", 10**9, used_units=8, output_units=4), (20, 0, 0, 0)),
    ],
)
def test_shares_of_twenty_cycles_on_four_units(layer: Layer, shared: tuple[int, ...]) -> None:
    """Of a layer that fills the units, has channels that are padding, leaves blocks, says nothing, says too much."""
    halved = replace(layer, used_units=layer.used_units // 2, output_units=layer.output_units // 2)
    found = shares(halved, 20, 4)
    assert tuple(found[cause] for cause in (USEFUL, PADDING, WORDS, BLOCKS)) == shared


TOPOLOGIES = ("nnu-1024", "nnu-512", "nnu-1024-jump", "ncore", "rotating-16")


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("name", ["digits", "pocket", "example-conv", "example-residual"])
def test_the_cycles_of_whatever_is_shipped_add_up(name: str, topology: str) -> None:
    chip_ = tilesim.load_topology(topology)
    assert isinstance(chip_, Topology)
    try:
        program = tilesim.compile(tilesim.load_network(name), chip_)
    except CapacityError:
        assert topology == "rotating-16"
        return
    found = tilesim.simulate(program).statistics
    assert sum(found["breakdown"].values()) == found["cycles"]
    assert all(sum(layer["breakdown"].values()) == layer["cycles"] for layer in found["layers"])
    outside = found["cycles"] - sum(layer["cycles"] for layer in found["layers"])
    assert outside == found["breakdown"].get("no work", 0)
    macs = sum(layer["breakdown"].get("useful MACs", 0) for layer in found["layers"])
    np.testing.assert_allclose(macs * chip_.macs_per_cycle, found["macs"], rtol=0, atol=8 * 4096)


def test_the_cycles_of_the_claim_add_up() -> None:
    program = tilesim.load_program(ROOT / "workloads" / "rotating" / "claim.tasm")
    found = tilesim.simulate(program).statistics
    assert sum(found["breakdown"].values()) == found["cycles"]
    assert found["breakdown"]["capture"] == 2 + 2


def test_a_function_that_is_raw_is_captured_too() -> None:
    assert behind(COPY, Out(row=Rows(9), function=Function.RAW)) == {"element-wise": 1, "capture": 1}

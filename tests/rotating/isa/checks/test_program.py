"""Static checks: a small program is sound, and each thing that is wrong with it has its sentence."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest

from tests.rotating.isa.checks.listings import HEAD, LOAD, RUN, program, swapped
from tilesim.rotating.isa.checks.program import faults
from tilesim.rotating.isa.model.instructions import Halt, Out, Step


def test_a_small_program_is_sound() -> None:
    assert faults(program()) == []


def test_without_a_halt_it_is_sound() -> None:
    assert faults(program(RUN.replace("halt", ""))) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "source=data ram=weight_ram rows=3",
            "source=input ram=weight_ram",
            "D1 read_host_memory: source must be data or scratch in load, which has no input, not input",
        ),
        (
            "halt",
            "write_host_memory\nhalt",
            "load[2] write_host_memory: destination must be scratch in load, which has no output, not output",
        ),
        ("tensor=1", "tensor=2", "D2 read_host_memory: tensor must be one of 2 of data, not data 2"),
        ("rows=9", "rows=10", "D2 read_host_memory: offset must keep rows 0 to 9 inside data 1, which has 9"),
        (
            "rows=3\n",
            "rows=2\n",
            (
                "X2 step: weights must be of rows that are written before they are read, and row 2 of the "
                "weight RAM is not"
            ),
        ),
    ],
)
def test_a_fault_of_the_load_has_its_sentence(old: str, new: str, sentence: str) -> None:
    assert faults(program(load=swapped(LOAD, old, new))) == [sentence]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "dtype=int8 shape",
            "dtype=uint8 shape",
            "input 'in0': dtype must be int8, or float32 with a scale, not uint8 with the scale 0.0",
        ),
        ("element=int8", "element=int16", "input 'in0': element must be one of int8, uint8, not 'int16'"),
        ("index=0", "index=-1", "input 'in0': index must be 0 or more, not -1"),
        ("axes=0,1,2,3", "axes=0,1,2,2", "input 'in0': axes must be 0 to 3 in some order, not (0, 1, 2, 2)"),
        ("shape=1,2,8,1", "shape=1,2,7,1", "input 'in0': layout must have 14 elements, as shape has, not 16"),
        ("height=2", "height=0", "input 'in0': layout.height, width and depth must be at least 1, not 0, 8, 1"),
        ("width=8", "width=9", "input 'in0': layout.stripes must have the 9 columns of the map, not 8"),
        ("columns=8", "columns=7", "input 'in0': layout.stripes must have the 8 columns of the map, not 7"),
        (
            "first_column=0",
            "first_column=1",
            "input 'in0': layout.stripes[0]: first_column must be 0 to 0, and columns 1 or more, not 1 and 8",
        ),
        ("block=8", "block=7", "input 'in0': layout.stripes[0]: block must be at least 8, the columns, not 7"),
        (
            "channels=[0]",
            "channels=[0,-1]",
            (
                "input 'in0': layout.stripes[0]: channels[0] must be in at most 8 words, those of a row, not in "
                "2 blocks of 8"
            ),
        ),
        ("channels=[0]", "channels=[1]", "input 'in0': layout.stripes[0]: channels must be -1 to 0, not 1 to 1"),
        ("channels=[0]", "channels=[-1]", "input 'in0': layout.stripes[0]: channels must have channel 0 in a block"),
        ("depth=1", f"depth={1 << 80}", "input 'in0': layout.stripes[0]: channels must have channel 1 in a block"),
        ("offset=0", "offset=8", "input 'in0': layout.stripes[0]: offset must be 0 to 7, a word of a row, not 8"),
        ("depth=1", "depth=1 fill=256", "input 'in0': layout.fill must be -128 to 255, what a word can be, not 256"),
        (
            "row=4 rows_written",
            "row=15 rows_written",
            "tensor 't': row must keep rows 15 to 16 inside the data RAM, which has 16",
        ),
        ("rows_written=2", "rows_written=-1", "tensor 't': rows_written must be 0 or more, not -1"),
        (
            "axes=0,1,2,3 dtype=int8",
            "axes=0,1,2,3 dtype=int9",
            "tensor 't': dtype must be one of int8, uint8, int16, not 'int9'",
        ),
    ],
)
def test_a_fault_beside_the_instructions_has_its_sentence(old: str, new: str, sentence: str) -> None:
    assert faults(program(head=swapped(HEAD, old, new)))[:1] == [sentence]


def test_data_are_whole_rows() -> None:
    assert faults(program(data={"weights": 25, "parameters": 72})) == [
        "data 'weights': must be whole rows of 8 bytes, not 25 bytes"
    ]


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"output": {"place": "none"}}, "O1 out: place must not be given, for output.place is none"),
        (
            {"sequencer": {"instructions": 12}},
            "run: must be at most 12 instructions, what sequencer.instructions has room for, not 13",
        ),
        ({"rotation": {"distances": "1-3"}}, None),
        ({"weight_ram": {"rows": 64, "shape": "half_rows"}}, None),
        (
            {"weight_ram": {"rows": 17, "shape": "half_rows"}},
            None,
        ),
    ],
)
def test_the_chip_decides(keys: dict[str, Any], sentence: str | None) -> None:
    assert faults(program(**keys)) == ([sentence] if sentence else [])


def test_half_rows_are_twice_as_many() -> None:
    keys: dict[str, Any] = {"weight_ram": {"rows": 64, "shape": "half_rows"}}
    assert faults(program(swapped(RUN, "(row=0)", "(row=128)"), **keys)) == [
        "X1 step: weights must keep half rows 128 to 128 inside the weight RAM, which has 128"
    ]
    assert faults(program(swapped(RUN, "(row=0)", "(row=5)"), **keys)) == []
    assert faults(program(swapped(RUN, "(row=0)", "(row=6)"), **keys)) == [
        ("X1 step: weights must be of rows that are written before they are read, and row 3 of the weight RAM is not")
    ]


def test_loops_are_no_deeper_than_the_sequencer_counts() -> None:
    deep = "L1: loop count=1\nL2: loop count=1\nend\nend\nhalt"
    keys: dict[str, Any] = {"sequencer": {"loop_depth": 1}}
    head = ".layer name=none kind=none macs=0"
    assert faults(program(deep, head=head, **keys)) == ["L2 loop: loops must stand at most 1 deep in each other, not 2"]


def test_a_mask_behind_the_only_turn_does_not_count() -> None:
    once = swapped(swapped(RUN, "L1: loop count=2", "L1: loop count=1"), "row=4 rows=2", "row=3 rows=2 ")
    mask = swapped(once, "E1: end", "M2: mask offset=0 block=4 count=4 blocks=2\nE1: end")
    assert not any("place" in sentence for sentence in faults(program(mask)))


def test_a_mask_of_the_turn_before_counts() -> None:
    run = swapped(RUN, "E1: end", "M2: mask offset=0 block=4 count=4 blocks=2\nE1: end")
    [sentence] = faults(program(run))
    assert sentence.startswith("O1 out: place must have room for 4 words, those of a block that the mask names, and")


def test_all_faults_come_at_once() -> None:
    run = RUN.replace("rotate=1", "rotate=2").replace("slot=1", "slot=2").replace("row=4 rows=2", "row=4 rows=0")
    found = faults(program(run, head=HEAD.replace("index=0", "index=-1")))
    assert [sentence.split(":")[0] for sentence in found] == [
        *("input 'in0'", "X2 step", "O1 out", "W1 write_host_memory")
    ]


def test_more_than_anybody_could_wait_for_is_refused() -> None:
    nest = "\n".join(["loop count=16777216"] * 6 + ["step"] + ["end"] * 6 + ["halt"])
    [sentence] = faults(program(nest, head=".layer name=none kind=none macs=0"))
    assert sentence.startswith("run: loops must come to at most 8388608 instructions, not ")


def test_ten_thousand_steps_are_checked_at_once() -> None:
    """Without a loop, where there is most to look at; a slow machine may take ten times as long as "
    "it should."""
    whole = program()
    step, out = (next(op for op in whole.run if isinstance(op, kind)) for kind in (Step, Out))
    plain = replace(step, label="", data=replace(step.data, strides=()) if step.data else None)
    free = tuple(op for op in whole.run if not isinstance(op, Halt))
    many = replace(whole, run=(*free, *[plain] * 9_000, *[replace(out, label="", row=plain.data)] * 1_000, Halt()))  # type: ignore[arg-type]
    begin = perf_counter()
    assert faults(many) == []
    assert perf_counter() - begin < 3

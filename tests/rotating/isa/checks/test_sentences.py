"""What is wrong with the instructions of a run has its sentence, and nothing else has one."""

from __future__ import annotations

import pytest

from tests.rotating.isa.checks.listings import RUN, program, swapped
from tilesim.rotating.isa.checks.program import faults


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("layer=0", "layer=1", ["X1 step: layer must be -1 to 0, not 1"]),
        ("rotate=1", "rotate=2", ["X2 step: rotate must be 0 or a distance of the chip, 1, not 2"]),
        ("layer=0", "rotate=1", ["X1 step: rotate must be 0 where data is loaded, not 1"]),
        ("repeat=2", "repeat=0", ["X2 step: repeat must be 1 to 16777216, not 0"]),
        ("alu=multiply_add repeat", "alu=plane plane=4 repeat", ["X2 step: plane must be 0 to 3, not 4"]),
        ("layer=0", "plane=3", ["X1 step: plane must be 0 where alu is multiply_add, not 3"]),
        (
            "row=0 strides=1",
            "row=15 strides=1",
            ["X1 step: data must keep rows 15 to 16 inside the data RAM, which has 16"],
        ),
        (
            "row=0 strides=1",
            "row=0 strides=-1",
            ["X1 step: data must keep rows -1 to 0 inside the data RAM, which has 16"],
        ),
        (
            "row=1 step=1",
            "row=1 step=63",
            ["X2 step: weights must keep rows 1 to 64 inside the weight RAM, which has 64"],
        ),
        (
            "row=4 strides=1",
            "row=4 strides=12",
            ["O1 out: row must keep rows 4 to 16 inside the data RAM, which has 16"],
        ),
        ("(row=8)", "(row=56)", ["P1 parameters: row must keep rows 56 to 64 inside the weight RAM, which has 64"]),
        (
            "(row=8)",
            "(row=33) table=true",
            [
                "O1 out: set 0 of the parameters must be fetched before it",
                "P1 parameters: row must keep rows 33 to 64 inside the weight RAM, which has 64",
            ],
        ),
        (
            "(row=8)",
            "(row=8) set=2",
            ["P1 parameters: set must be 0 to 1, not 2", "O1 out: set 0 of the parameters must be fetched before it"],
        ),
        ("clear=zero", "set=1", ["O1 out: set 1 of the parameters must be fetched before it"]),
        ("clear=zero", "function=lookup", ["O1 out: the table of look-ups must be fetched before it"]),
        ("clear=zero", "outside=fill fill=256", ["O1 out: fill must be -128 to 255, what a word can be, not 256"]),
        ("slot=1", "slot=2", ["O1 out: place.slot must be 0 to 1, not 2"]),
        ("slots=2", "slots=0", ["O1 out: place.slots must be at least 1, not 0"]),
        (
            "slots=2",
            "slots=4",
            [
                (
                    "O1 out: place must have room for 2 words, those of a block that the mask names, and a block of "
                    "4 words has slots of 1"
                )
            ],
        ),
        (
            "M1: mask offset=0 block=4 count=2 blocks=2",
            "M1: mask",
            ["O1 out: place must have a mask, which says what the blocks are"],
        ),
        (
            "block=4 count=2 blocks=2",
            "block=5 count=1 blocks=2",
            ["O1 out: place must have blocks of at most 8 words in all, and the mask has 10"],
        ),
        (
            "block=4 count=2 blocks=2",
            "block=1 count=2 blocks=2",
            [
                "M1 mask: must name each word once, and names word 1 2 times",
                "O1 out: place.slots must divide a block of 1 words, not be 2",
            ],
        ),
        (
            "block=4 count=2 blocks=2",
            "block=2 count=5 blocks=2",
            [
                "M1 mask: count * blocks must be at most 8, the words of a row, not 10",
                (
                    "O1 out: place must have room for 5 words, those of a block that the mask names, and a block of "
                    "2 words has slots of 1"
                ),
            ],
        ),
        ("offset=0 block", "offset=8 block", ["M1 mask: offset must be 0 to 7, a word of a row, not 8"]),
        (
            "rule=single",
            "rule=half",
            [
                "C1 set: rule must be one of double, single, float, divide, wide, real, not 'half'",
                "O1 out: rule must be one of double, single, float, divide, wide for requantise, not 'half'",
            ],
        ),
        (
            "rule=single",
            "rule=real",
            ["O1 out: rule must be one of double, single, float, divide, wide for requantise, not 'real'"],
        ),
        ("rule=single", "data_zero=128", ["C1 set: data_zero must be -128 to 127, as signed words are, not 128"]),
        (
            "rule=single",
            "weights=unsigned weight_zero=-1",
            ["C1 set: weight_zero must be 0 to 255, as unsigned words are, not -1"],
        ),
        ("rule=single", "zero_point=256", ["C1 set: zero_point must be -128 to 255, what a word can be, not 256"]),
        (
            "rule=single",
            "clamp=-1,128",
            ["C1 set: clamp must be inside -128 to 127 or 0 to 255, what a word can be, not -1 to 128"],
        ),
        ("rule=single", "clamp=5,4", ["C1 set: clamp must be the smallest and the largest result, not 5 to 4"]),
        ("clear=zero", "function=combine", ["O1 out: rule must be one of double, float, real for add, not 'single'"]),
        ("count=2\nX1", "count=0\nX1", ["L1 loop: count must be 1 to 16777216, not 0"]),
        ("E1: end", "E1: end\nend", ["run[10] end: must have a loop that it ends"]),
        (
            "E1: end\n",
            "",
            [
                "S2 sync: must not stand in a loop, for DMA out has none",
                "W1 write_host_memory: must not stand in a loop, for DMA out has none",
                "run[11] halt: must not stand in a loop",
                "L1 loop: must have an end",
            ],
        ),
        (
            "row=0 strides=1",
            "row=0 strides=1,1",
            ["X1 step: data must have at most 1 strides, one for each loop around it, not 2"],
        ),
        (
            "until=dma_in count=2",
            "until=dma_in count=2 strides=1",
            ["S1 sync: count must have at most 0 strides, one for each loop around it, not 1"],
        ),
        ("until=dma_in count=2", "until=dma_in count=-1", ["S1 sync: count must be 0 or more, not -1"]),
        (
            "X1: step",
            "sync unit=array until=dma_in count=0 strides=-1\nX1: step",
            ["run[6] sync: count must be 0 or more, not -1"],
        ),
        ("L1: loop count=2", "L1: loop count=4194304", [None]),
        ("halt", "halt\nZ1: step", ["Z1 step: must not stand behind a halt, where the array does nothing"]),
        ("W1:", "X1:", ["X1: a label must belong to one instruction"]),
        ("rows=2\nP1", "rows=0\nP1", ["I1 read_host_memory: rows must be at least 1, not 0"]),
        ("rows=2\nP1", "rows=3\nP1", ["I1 read_host_memory: offset must keep rows 0 to 2 inside input 0, which has 2"]),
        (
            "rows=2\nP1",
            "rows=2 row=15\nP1",
            ["I1 read_host_memory: row must keep rows 15 to 16 inside the data RAM, which has 16"],
        ),
        (
            "rows=2\nP1",
            "rows=2 row=63 ram=weight_ram\nP1",
            ["I1 read_host_memory: row must keep rows 63 to 64 inside the weight RAM, which has 64"],
        ),
        ("rows=2\nP1", "rows=2 row=-1\nP1", ["I1 read_host_memory: row must be 0 or more, not -1"]),
        ("rows=2\nP1", "rows=2 tensor=1\nP1", ["I1 read_host_memory: tensor must be one of 1 of input, not input 1"]),
        (
            "rows=2\nP1",
            "rows=2 source=scratch tensor=1024\nP1",
            ["I1 read_host_memory: tensor must be below 1024 for scratch, not 1024"],
        ),
        (
            "rows=2\nP1",
            "rows=2 source=scratch\nP1",
            [
                (
                    "I1 read_host_memory: offset must be of rows that are written before they are read, and row 0 "
                    "of scratch 0 is not"
                )
            ],
        ),
        (
            "row=4 rows=2\n",
            "row=4 rows=1\n",
            ["output 'out0': each row must be written once, and row 1 is never written"],
        ),
        (
            "row=4 rows=2\n",
            "row=4 rows=2\nwrite_host_memory offset=1\n",
            ["output 'out0': each row must be written once, and row 1 is written 2 times"],
        ),
        (
            "I1:",
            f"I1: read_host_memory row={10**30}\nI2:",
            ["I1 read_host_memory: row must be -2147483648 to 2147483647, not a number of 100 bits"],
        ),
        (
            "(row=0)",
            "(row=3)",
            [
                (
                    "X1 step: weights must be of rows that are written before they are read, and row 3 of the "
                    "weight RAM is not"
                )
            ],
        ),
        (
            "row=0 strides=1",
            "row=1 strides=1",
            ["X1 step: data must be of rows that are written before they are read, and row 2 of the data RAM is not"],
        ),
        (
            "row=0 strides=1",
            "row=5 strides=-1",
            ["X1 step: data must be of rows that are written before they are read, and row 5 of the data RAM is not"],
        ),
        (
            "(row=8)",
            "(row=9)",
            [
                (
                    "P1 parameters: row must be of rows that are written before they are read, and row 17 of the "
                    "weight RAM is not"
                )
            ],
        ),
        (
            "row=4 rows=2\n",
            "row=3 rows=2\n",
            [
                (
                    "W1 write_host_memory: row must be of rows that are written before they are read, and row 3 of "
                    "the data RAM is not"
                )
            ],
        ),
        (
            "S1: sync unit=array until=dma_in count=2\n",
            "",
            ["nothing orders I1 (read_host_memory) and X1 (step): both touch row 0 of the data RAM"],
        ),
        (
            "S2: sync unit=dma_out until=output count=2\n",
            "",
            ["nothing orders O1 (out) and W1 (write_host_memory): both touch row 4 of the data RAM"],
        ),
        (
            "until=output count=2",
            "until=output count=1",
            ["nothing orders O1 (out) and W1 (write_host_memory): both touch row 5 of the data RAM"],
        ),
        (
            "until=output",
            "until=array",
            ["nothing orders O1 (out) and W1 (write_host_memory): both touch row 4 of the data RAM"],
        ),
        (
            "until=output count=2",
            "until=output count=3",
            ["S2 (sync) waits for the output unit to write 3 rows; it can write 2, and the section has 2"],
        ),
        (
            "until=dma_in count=2",
            "until=dma_in count=3",
            ["S1 (sync) waits for DMA in to write 3 rows; it can write 2, and the section has 2"],
        ),
        (
            "until=dma_in count=2",
            "until=dma_out count=1",
            [
                (
                    "these wait in a circle: S1 (sync) waits for DMA out to send 1 row; it can send 0; S2 (sync) "
                    "waits for the output unit to write 2 rows; it can write 0"
                )
            ],
        ),
        (
            "until=dma_in count=2",
            "until=array count=1",
            ["S1 (sync) waits for the array to issue 1 out; it can issue 0, and the others stand behind this sync"],
        ),
    ],
)
def test_a_fault_of_the_run_has_its_sentence(old: str, new: str, sentences: list[str | None]) -> None:
    found = faults(program(swapped(RUN, old, new)))
    assert (found == sentences) if sentences != [None] else found, found

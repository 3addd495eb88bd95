"""Static checks: a sound program has no faults, and each rule finds the one thing that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Alternate, ByteFilter, Flag, Loop, Nest, Reference, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Classify,
    ElementType,
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Operation,
    Outfeed,
    RingConsume,
    RingProduce,
    ScalarFence,
    TensorOp,
    TileFence,
    WideToNarrow,
)
from tilesim.tiled.isa.model.program import Block, DataSegment, HostTensor, Layer, Program, TensorLayout, TensorPiece
from tilesim.tiled.topology import (
    DataMemory,
    Grid,
    InstructionMemory,
    Mesh,
    NarrowMemory,
    Tile,
    Topology,
    WideMemory,
)

CHIP = Topology(
    machine="tiled",
    name="small",
    grid=Grid(rows=2, columns=2),
    data_memory=DataMemory(size_bytes=1024),
    narrow_memory=NarrowMemory(size_bytes=1024, word_bytes=4),
    wide_memory=WideMemory(size_bytes=2048, row_bytes=64),
    tile=Tile(lanes=16, inputs_per_cycle=4, vector_bytes=4),
)


def nest(alternate: Alternate | None = None, /, **bounds: int) -> Nest:
    return Nest(tuple(Loop(name, bound) for name, bound in bounds.items()), alternate)


def at(base: int, **strides: int) -> Reference:
    return Reference(base, tuple(strides.items()))


def stream(base: int, bound: int, stride: int) -> Traversal:
    return Traversal(nest(r=bound), at(base, r=stride))


CONV = TensorOp(
    tiles=0xF,
    operation=Operation.CONVOLUTION,
    nest=nest(y=4, zi=2, lane=16),
    reduce=("zi",),
    input=at(0, y=8, zi=4),
    weights=at(0, zi=64),
    parameters=at(128),
    output=at(512, y=16),
    rule="double",
)
VECTOR = replace(CONV, operation=Operation.DEPTHWISE, nest=nest(y=4, zi=2, lane=4), weights=at(0, zi=4))
ADD = replace(VECTOR, operation=Operation.ADD, nest=nest(y=4, lane=4), reduce=(), weights=None, input_b=at(64, y=8))
ADD = replace(ADD, input=at(0, y=8), parameters=None, scaling=(1, 2, 3, 4, 5, 6, 7, 8, 9))
PRODUCT = replace(ADD, operation=Operation.MULTIPLY, scaling=(1, 2, 3, 4, 5))
I16 = ElementType.I16
WIDE = replace(CONV, input_type=I16, weight_type=I16, output_type=I16, widths=(16, 16), input=at(0, y=16, zi=8))
WIDE = replace(WIDE, weights=at(0, zi=128), parameters=at(512), output=at(512, y=32))
TO_NARROW = WideToNarrow(tiles=1, read=stream(0, 2, 64), write=stream(0, 32, 4))
TO_WIDE = NarrowToWide(tiles=1, read=stream(0, 32, 4), write=stream(0, 2, 64))
CONSUME = RingConsume(tiles=1, write=stream(0, 2, 64), produce="r")
PRODUCE = RingProduce(tiles=1, read=stream(0, 2, 64), to=0b111110)
OUT = MeshOut(tiles=0b0011, side=Side.SOUTH, read=stream(0, 4, 4))
IN = MeshIn(tiles=0xF, side=Side.NORTH, write=stream(0, 4, 4), fill=-128)
FEED = Infeed(source="data", rows=2, address=0, to=1)
FENCE = TileFence(tiles=0xF)
CLASSIFY = Classify(rows=1, elements=10, function="softmax", scaling=(1, 1, 0, -128, 127))


def program(*run: Instruction, **changes: Any) -> Program:
    return Program("p", changes.pop("topology", CHIP), (), run, **changes)


@pytest.mark.parametrize(
    "instruction", [CONV, VECTOR, ADD, TO_NARROW, TO_WIDE, CONSUME, PRODUCE, OUT, IN, FEED, FENCE, CLASSIFY]
)
def test_a_sound_instruction_has_no_fault(instruction: Instruction) -> None:
    assert faults(program(instruction)) == []


SEVEN = {f"l{k}": 1 for k in range(7)}


@pytest.mark.parametrize(
    ("instruction", "changes", "fault"),
    [
        # loops
        (CONV, {"nest": nest(**SEVEN, y=4, zi=2, lane=16)}, "nest must have at most 8 loops, not 10"),
        (CONSUME, {"write": Traversal(nest(a=1, b=1, c=1, d=1, r=2), at(0))}, "write must have at most 4 loops, not 5"),
        (OUT, {"read": Traversal(nest(a=1, b=1, c=1, d=1, r=2), at(0))}, "read must have at most 4 loops, not 5"),
        (TO_WIDE, {"read": Traversal(nest(**SEVEN), at(0))}, "read must have at most 6 loops, not 7"),
        (TO_WIDE, {"write": Traversal(nest(a=1, b=1, c=1, d=1, r=2), at(0))}, "write must have at most 4 loops, not 5"),
        (CONSUME, {"write": stream(0, 0, 64)}, "write must run the loop r at least once, not 0 times"),
        (CONV, {"nest": Nest((Loop("zi", 2), Loop("zi", 2), Loop("l", 4)))}, "must have one loop called 'zi', not 2"),
        (CONV, {"nest": nest()}, "nest must have at least the loop of the lanes"),
        (CONV, {"nest": nest(y=4, zi=2, lane=17)}, "nest must have at most 16 lanes (tile.lanes)"),
        (VECTOR, {"nest": nest(y=4, zi=2, lane=5)}, "at most 4 lanes (tile.vector_bytes)"),
        (CONV, {"nest": nest(Alternate("yy", 3), y=4, zi=2, lane=16)}, "nest alternate must be a loop around"),
        (CONV, {"nest": nest(Alternate("lane", 3), y=4, zi=2, lane=16)}, "nest alternate must be a loop around"),
        (CONV, {"nest": nest(Alternate("y", 17), y=4, zi=2, lane=16)}, "from 1 to the innermost bound 16, not 17"),
        (CONV, {"nest": nest(Alternate("y", 0), y=4, zi=2, lane=16)}, "from 1 to the innermost bound 16, not 0"),
        # names of loops
        (CONV, {"input": at(0, yy=4)}, "input must be moved by loops of the nest, not 'yy'; did you mean 'y'?"),
        (CONV, {"input": Reference(0, (("y", 4), ("y", 4)))}, "input must have one stride for the loop 'y', not 2"),
        (CONSUME, {"produce": "s"}, "produce must be a loop of the instruction, not 's'"),
        (CONSUME, {"wait": (Watcher(Flag.AVDATA, 1, "s"),)}, "wait on avdata must be in a loop of the instruction"),
        (CONSUME, {"wait": (Watcher(Flag.AVDATA, 1, None, 2),)}, "wait on avdata must name a loop to count by 2 in"),
        (CONV, {"reduce": ("y",)}, "reduce must be the 1 loops just around the lanes (zi), not y"),
        (CONV, {"reduce": ("lane",)}, "reduce must be the 1 loops"),
        (CONV, {"reduce": ("zz",)}, "reduce must be the 1 loops"),
        (CONV, {"output": at(512, zi=4)}, "output must not move in the reduction loop zi"),
        (CONV, {"weights": at(0, zi=64, lane=4)}, "weights must not move in the loop lane of the lanes: one access"),
        # addresses
        (CONV, {"input": at(1000, y=8)}, "input must stay inside the narrow memory of 1024 bytes, but ends at 1028"),
        (CONV, {"input": at(0, y=-8)}, "input must stay inside the narrow memory of 1024 bytes, but begins at -24"),
        (CONV, {"output": at(1012)}, "output must stay inside the narrow memory of 1024 bytes, but ends at 1028"),
        (CONV, {"parameters": at(1920)}, "parameters must stay inside the wide memory of 2048 bytes, but ends at 2112"),
        (CONSUME, {"write": stream(1984, 2, 64)}, "inside the wide memory of 2048 bytes, but ends at 2112"),
        (FEED, {"address": 960}, "address must stay inside the data memory of 1024 bytes, not 0x3c0 to 0x440"),
        (CONV, {"input": at(2, y=8)}, "input must begin at a multiple of 4 bytes (one operand), not at 0x2"),
        (CONV, {"output": at(512, y=18)}, "output must move by a multiple of 4 bytes (one write) in the loop y"),
        (CONV, {"output": at(0, lane=6)}, "output must move by a multiple of 4 bytes (one write) in the loop lane"),
        (CONV, {"output": at(0, y=4, lane=512)}, "narrow memory of 1024 bytes, but ends at 1552"),
        (CONV, {"sums_in": at(32)}, "sums_in must begin at a multiple of 64 bytes (one register), not at 0x20"),
        (CONSUME, {"write": stream(0, 2, 32)}, "by a multiple of 64 bytes (one row) in the loop r, not by 32"),
        (IN, {"write": stream(1, 4, 4)}, "write must begin at a multiple of 4 bytes (one word)"),
        (CONV, {"weights": at(0, zi=32)}, "weights must not cross the end of a row of 64 bytes"),
        (VECTOR, {"weights": at(62)}, "weights must not cross the end of a row of 64 bytes within one operand of 4"),
        # transfers
        (TO_NARROW, {"write": stream(0, 31, 4)}, "not 124 bytes of narrow words and 128 bytes of wide rows"),
        (TO_WIDE, {"read": Traversal(nest(Alternate("y", 1), y=2, r=16), at(0))}, "not 68 bytes of narrow words"),
        # operands and numbers of a tensorop
        (CONV, {"weights": None}, "weights must be given for convolution"),
        (VECTOR, {"weights": None}, "weights must be given for depthwise"),
        (ADD, {"input_b": None}, "input_b must be given for add"),
        (ADD, {"weights": at(0)}, "weights must not be given for add"),
        (CONV, {"rule": ""}, "rule must say how the results of convolution are requantised"),
        (CONV, {"parameters": None}, "parameters must be given"),
        (CONV, {"sums_out": at(256)}, "output or sums_out must be given, not both"),
        (CONV, {"output": None}, "output or sums_out must be given, not neither"),
        (CONV, {"wait": (Watcher(Flag.AVDATA, 1, "zi", 1),)}, "wait must watch at a loop around the result groups"),
        (CONV, {"wait": (Watcher(Flag.AVDATA, 1, "lane", 1),)}, "wait must watch at a loop around the result groups"),
        (CONV, {"nest": nest(Alternate("zi", 8), y=4, zi=2, lane=16)}, "nest must have its alternate limit in a loop"),
        (CONV, {"widths": (8, 4)}, "widths must be two of 8, 16, for activations and weights, not 8, 4"),
        (CONV, {"widths": (16, 8)}, "widths must be 8, 8, as activations are i8 and weights i8, not 16, 8"),
        (CONV, {"input_type": I16}, "widths must be 16, 8, as activations are i16 and weights i8, not 8, 8"),
        (CONV, {"weight_type": I16}, "widths must be 8, 16, as activations are i8 and weights i16, not 8, 8"),
        (ADD, {"input_type": I16}, "widths must be 16, 8, as activations are i16, not 8, 8"),
        (PRODUCT, {"input_type": I16}, "widths must be 16, 16, as activations are i16, not 8, 8"),
        (WIDE, {"input": at(2, y=16, zi=8)}, "input must begin at a multiple of 4 bytes (one operand), not at 0x2"),
        (WIDE, {"input": at(1000, y=8)}, "input must stay inside the narrow memory of 1024 bytes, but ends at 1032"),
        (WIDE, {"output": at(996)}, "output must stay inside the narrow memory of 1024 bytes, but ends at 1028"),
        (WIDE, {"parameters": at(1856)}, "parameters must stay inside the wide memory of 2048 bytes, but ends at 2112"),
        (WIDE, {"sums_in": at(1984)}, "sums_in must stay inside the wide memory of 2048 bytes, but ends at 2112"),
        (WIDE, {"weights": at(64, zi=128)}, "weights must not cross the end of a pair of rows of 128 bytes within one"),
        (CONV, {"clamp": (5, -5)}, "clamp must be the smallest and the largest result, not 5, -5"),
        # stops
        (CONSUME, {"tiles": 0}, "tiles must name some of the 4 tiles (1 to 0xf), not none"),
        (CONSUME, {"tiles": 0x1F}, "tiles must name some of the 4 tiles (1 to 0xf), not 0x1f"),
        (PRODUCE, {"to": 0}, "to must name some of the 6 tiles, classifier and sink (1 to 0x3f), not none"),
        (FEED, {"to": 0x40}, "to must name some of the 6 tiles, classifier and sink (1 to 0x3f), not 0x40"),
        (PRODUCE, {"to": 0b11}, "to must not name the tile that sends (0x1), as 0x3 does"),
        (OUT, {"tiles": 0b0111}, "tile 2 has none to the south"),
        # the byte filter
        (CONSUME, {"filter": ByteFilter(2, 0, 64, 0)}, "filter must not be given on a chip without ring.byte_filter"),
        (CONSUME, {"filter": ByteFilter(0, -1, 0, -1)}, "filter must have rows of at least 1, not 0"),
        (CONSUME, {"filter": ByteFilter(0, -1, 0, -1)}, "filter must have first of at least 0, not -1"),
        (CONSUME, {"filter": ByteFilter(0, -1, 0, -1)}, "filter must have keep of at least 1, not 0"),
        (CONSUME, {"filter": ByteFilter(0, -1, 0, -1)}, "filter must have gap of at least 0, not -1"),
        (CONSUME, {"filter": ByteFilter(1 << 19, 0, 1, 0)}, "filter must have rows of at most 262144, not 524288"),
        (CONSUME, {"filter": ByteFilter(2, 8, 16, 16)}, "write must have at most 1 rows, for the 64 bytes that"),
        # the rest
        (FEED, {"source": "hots"}, "source must be where the rows are, not 'hots'; did you mean 'host'?"),
        (FEED, {"rows": 0}, "rows must be at least 1, not 0"),
        (FEED, {"transfers": 0}, "transfers must be at least 1, not 0"),
        (FEED, {"transfers": 5}, "to must stay among the 4 tiles in all 5 transfers, not reach 4"),
        (FEED, {"to": 0x10, "transfers": 2}, "to must stay among the 4 tiles in all 2 transfers, not reach 5"),
        (FEED, {"rows": 5, "transfers": 4}, "address must stay inside the data memory of 1024 bytes, not 0x0 to 0x500"),
        (IN, {"fill": 256}, "fill must be a byte, -128 to 255, not 256"),
        (CLASSIFY, {"elements": 65}, "rows must be the 2 that 65 elements take, not 1"),
        (CLASSIFY, {"rows": 2}, "rows must be the 1 that 10 elements take, not 2"),
        (CLASSIFY, {"elements_per_sender": 4}, "rows must be the 3 that 10 elements, 4 a sender, take, not 1"),
        (CLASSIFY, {"elements": 130, "elements_per_sender": 65}, "rows must be the 4 that 130 elements, 65 a sender,"),
        (CLASSIFY, {"elements_per_sender": -1}, "elements_per_sender must be at least 0, not -1"),
        (CONV, {"layer": 0}, "layer must be below the number of layers 0, not 0"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named(instruction: Any, changes: dict[str, Any], fault: str) -> None:
    sentences = faults(program(replace(instruction, **changes)))
    assert any(fault in sentence for sentence in sentences), sentences
    assert all(sentence.startswith(f"run[0] {instruction.mnemonic}: ") for sentence in sentences)


def test_parameters_in_larger_rows_keep_to_what_a_register_holds() -> None:
    """16 lanes: registers of 64 bytes, rows of 256; those of two registers are not read at once."""
    chip = CHIP.model_copy(update={"wide_memory": WideMemory(size_bytes=2048, row_bytes=256)})
    assert not faults(replace(program(replace(CONV, parameters=at(192))), topology=chip))
    [sentence] = faults(replace(program(replace(CONV, parameters=at(196))), topology=chip))
    assert sentence.endswith("must not cross the end of a part of a row of 64 bytes within one operand of 64 bytes")


def test_results_of_less_than_a_word_may_stand_at_any_multiple_of_them() -> None:
    """Two bytes a cycle: a word's second half may be written, a byte behind it not."""
    chip = CHIP.model_copy(update={"tile": Tile(lanes=16, inputs_per_cycle=4, vector_bytes=2)})
    half = replace(VECTOR, nest=nest(y=4, zi=2, lane=2), output=at(514, y=6))
    assert not faults(replace(program(half), topology=chip))
    [sentence] = faults(replace(program(replace(half, output=at(513, y=6))), topology=chip))
    assert sentence == "run[0] tensorop: output must begin at a multiple of 2 bytes (one write), not at 0x201"


def test_eight_loops_are_accepted_and_nine_are_not() -> None:
    five = {f"l{k}": 1 for k in range(5)}
    assert faults(program(replace(CONV, nest=nest(**five, y=4, zi=2, lane=16)))) == []
    nine = replace(CONV, nest=nest(l=1, **five, y=4, zi=2, lane=16))
    assert faults(program(nine)) == ["run[0] tensorop: nest must have at most 8 loops, not 9"]


def with_words(row_bytes: int, word_bytes: int) -> Topology:
    """A chip with very narrow memories."""
    return CHIP.model_copy(
        update={
            "wide_memory": WideMemory(size_bytes=2048, row_bytes=row_bytes),
            "narrow_memory": NarrowMemory(size_bytes=1024, word_bytes=word_bytes),
            "tile": Tile(lanes=8, inputs_per_cycle=4, vector_bytes=4),
        }
    )


def test_a_transfer_is_whole_rows() -> None:
    even = NarrowToWide(tiles=1, read=stream(0, 12, 8), write=stream(0, 3, 32))
    assert faults(program(even, topology=with_words(32, 8))) == []
    odd = NarrowToWide(tiles=1, read=stream(0, 25, 4), write=stream(0, 3, 32))
    (fault,) = faults(program(odd, topology=with_words(32, 4)))
    assert "whole rows of 32 bytes, not 100 bytes of narrow words and 96 bytes of wide rows" in fault


def test_an_alternate_limit_shortens_what_is_reached() -> None:
    whole = Traversal(nest(y=4, r=16), at(800, y=64, r=4))
    short = Traversal(nest(Alternate("y", 8), y=4, r=16), at(800, y=64, r=4))
    assert any("ends at 1056" in sentence for sentence in faults(program(replace(OUT, read=whole))))
    assert faults(program(replace(OUT, read=short))) == []


def test_mesh_arrivals_may_go_to_the_wide_memory() -> None:
    """Then whole rows do."""
    wide = CHIP.model_copy(update={"mesh": Mesh(destination="wide")})
    row = wide.wide_memory.row_bytes
    far = replace(IN, write=stream(16 * row, 4, row))
    assert faults(program(far)) != []
    assert faults(program(far, topology=wide)) == []
    [fault] = faults(program(replace(IN, write=stream(16 * row, 4, 4)), topology=wide))
    assert fault.endswith(f"write must move by a multiple of {row} bytes (one row) in the loop r, not by 4")


@pytest.mark.parametrize(("reserve_rows", "sound"), [(0, True), (2, True), (3, False)])
def test_what_is_reserved_in_wide_memory_is_left_alone(reserve_rows: int, sound: bool) -> None:
    row = CHIP.wide_memory.row_bytes
    memory = CHIP.wide_memory.model_copy(update={"reserve_bytes": reserve_rows * row})
    chip = CHIP.model_copy(update={"wide_memory": memory})
    back = RingConsume(tiles=1, write=stream(5 * row, 4, -row), label="in")
    sentence = (
        f"in ring_consume: write must leave the first {3 * row} bytes of the wide memory alone "
        f"(wide_memory.reserve_bytes), not begin at {2 * row}"
    )
    assert faults(program(back, topology=chip)) == ([] if sound else [sentence])
    narrow = replace(OUT, read=stream(0, 4, 4))
    assert faults(program(narrow, topology=chip)) == []


def test_instructions_are_named_by_their_label_and_labels_are_unique() -> None:
    twice = replace(FENCE, label="F1", tiles=0)
    sentences = faults(program(twice, twice))
    assert sentences[0].startswith("F1 tile_fence: tiles must")
    assert sentences[-1] == "F1: a label must belong to one instruction, not to 2"


def test_pieces_may_overlap_but_leave_nothing_out() -> None:
    upper = TensorPiece(7, "F1", 0, 0, 64, 4, (0, 0, 0), (3, 4, 3), "i8")
    lower = replace(upper, origin=(2, 0, 0), extent=(2, 4, 3))
    layout = TensorLayout(7, "t", (4, 4, 3), (0, 1, 2, 3), (1, 4, 4, 3))
    sound = program(replace(FENCE, label="F1"), tensors=(layout,), pieces=(upper, lower))
    assert faults(sound) == []
    assert faults(replace(sound, pieces=(upper, replace(lower, origin=(1, 0, 0))))) == [
        "tensor 7: its pieces must make up its 48 elements, not leave some out"
    ]


def test_a_piece_stands_after_an_instruction_of_the_run() -> None:
    piece = TensorPiece(7, "F1", 0, 0, 64, 4, (0, 0, 0), (4, 4, 3), "i8")
    sound = program(
        replace(FENCE, label="F1"),
        tensors=(TensorLayout(7, "t", (4, 4, 3), (0, 1, 2, 3), (1, 4, 4, 3)),),
        pieces=(piece,),
    )
    assert faults(sound) == []
    wrong = replace(piece, after="F2", index=8, tile=4, address=1000, element="i9")
    assert faults(replace(sound, pieces=(wrong,))) == [
        "tensor 7: its pieces must be 48 elements in all, not 0",
        "piece[0] of tensor 8: after must be the label of an instruction of the run, not 'F2' (one of F1)",
        "piece[0] of tensor 8: index must be that of a tensor, not 8",
        "piece[0] of tensor 8: tile must be below the number of tiles 4, not 4",
        "piece[0] of tensor 8: element must be a type, not 'i9' (one of i16, i8, u8)",
        "piece[0] of tensor 8: address must keep it inside the narrow memory of 1024 bytes, not 0x3e8 to 0x4b7",
    ]


def test_data_segments_stay_inside_and_apart() -> None:
    def segment(name: str, address: int) -> DataSegment:
        return DataSegment(name, np.zeros(64, np.uint8), address)

    assert faults(program(data=(segment("b", 64), segment("a", 0)))) == []
    assert faults(program(data=(segment("b", 60), segment("a", 0), segment("a", 992)))) == [
        "data: the name 'a' must belong to one segment",
        "data 'b': address must not lie in 'a', which ends at 0x40",
        "data 'a': address must keep it inside the data memory of 1024 bytes, not 0x3e0 to 0x420",
    ]


def test_data_is_bytes_in_a_row() -> None:
    wide, square = DataSegment("wide", np.zeros(4, np.int16), 0), DataSegment("square", np.zeros((2, 4), np.uint8), 64)
    assert faults(program(data=(wide, square))) == [
        "data 'wide': must be bytes (uint8), one after the other, not int16 of shape (4,)",
        "data 'square': must be bytes (uint8), one after the other, not uint8 of shape (2, 4)",
    ]


TENSOR = HostTensor("t", 0, "int8", (1, 64), (0, 1), "i8", (1, 1, 64), (Block((0, 0, 0), (1, 1, 64), 64, 3),))


def test_the_rows_of_inputs_are_all_taken() -> None:
    feed = replace(FEED, source="host")
    sentences = faults(program(replace(feed, rows=2), inputs=(TENSOR,)))
    assert sentences == ["run: the infeeds must take all 3 rows of the inputs from the host, not 2"]
    assert faults(program(feed, replace(feed, rows=1), inputs=(TENSOR,))) == []
    assert faults(program(replace(feed, rows=1, transfers=3), inputs=(TENSOR,))) == []
    # More rows than the host has is a wait without an end: the run explains it.
    assert faults(program(replace(feed, rows=9), inputs=(TENSOR,))) == []


def test_outputs_get_their_rows() -> None:
    assert faults(program(Outfeed(output=0, rows=3), outputs=(TENSOR,))) == []
    assert faults(program(Outfeed(output=1, rows=3), outputs=(TENSOR,))) == [
        "run[0] outfeed: output must be below the number of outputs 1, not 1",
        "run: the outfeeds of output 0 must pass on its 3 rows, not 0",
    ]


def test_the_program_fits_in_the_instruction_memory() -> None:
    chip = CHIP.model_copy(update={"instruction_memory": InstructionMemory(size_bytes=31)})
    sentences = faults(program(FENCE, FENCE, topology=chip))
    assert sentences == ["program: its 2 words must fit in the instruction memory of 31 bytes, not take 32"]


def test_layers_and_controller_instructions_are_checked_in_the_load_as_well() -> None:
    sound = replace(program(layers=(Layer("l", "add", 1),)), load=(replace(ScalarFence(count=0), layer=0),))
    assert faults(sound) == []
    assert faults(replace(sound, layers=())) == [
        "load[0] scalar_fence: layer must be below the number of layers 0, not 0"
    ]

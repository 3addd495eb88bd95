"""Static checks: a small program is sound, and each thing that is wrong with it has its sentence."""

from __future__ import annotations

import pytest

from tests.systolic.programs import HEAD, RUN, program, small
from tilesim.systolic.isa.checks.program import faults

TENSOR = ".tensor index=1 name=t inference=0 after=L4 address=0x200 shape=1,4 axes=0,1 dtype=int8\n"
STEPS = ".batching schedule=demand weight_reuse=4 batches=1\n.step layer=0 first=0 count=1 label=L4\n"
WINDOW = "window=(address=0x0 height=1 width=1 channels=4)"
MAP = "window=(address=0x0 height=4 width=4 channels=4 output_height=2 output_width=2 kernel=2,2 strides=2,2)"
POOL = "pool=(function=max clamp=-128,127)"
AVERAGE = "pool=(function=average clamp=-128,127 rule=real scalings=[4,0,1,4,1,0])"
SCALE = "scale=(rule=double parameters=0x100 zero_point=0 clamp=-128,127)"
NESTS = "source=(address=0x0 bytes=4) destination=(address=0x10 bytes=4)"


def test_a_small_program_is_sound() -> None:
    assert faults(small(head=HEAD + TENSOR + STEPS)) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("rows=4", "rows=5", "rows must be at most 4, what the array takes in, not 5"),
        ("columns=4 layer", "columns=5 layer", "columns must be at most 4, what the array gives out, not 5"),
        ("layer=0", "layer=1", "layer must be -1 to 0, not 1"),
        ("layer=0", "vectors=0 layer=0", "vectors must be 1 to 4294967296, not 0"),
        ("layer=0", "vectors=2 layer=0", "first + vectors must be at most 1, the positions of the window, not 2"),
        ("layer=0", "first_row=1 layer=0", "first_row + rows must be at most 4, the elements of a window, not 5"),
        (
            "layer=0",
            "activation_zero_point=128",
            "activation_zero_point must be inside -128 to 127, as int8 is, not 128",
        ),
        (
            "layer=0",
            "accumulator=64",
            "accumulator must keep entries 64 to 64 inside the accumulators, which have 64",
        ),
        ("layer=0", "weights=int16", "weights must be of 1 bytes, as L2 read_weights fetches tile 1, not int16"),
        ("layer=0", "switch=false", "switch must be true, for the array has no weights yet"),
        ("L2: read_weights", "L2: nop", "must have a tile of weights, and takes number 1 of 0 that are fetched"),
        (
            "read_weights",
            "read_weights weight_bytes=2",
            "weights must be of 2 bytes, as L2 read_weights fetches tile 1",
        ),
        ("read_weights", "read_weights weight_bytes=3", "weight_bytes must be at most 2, the bytes of int16, not 3"),
        (
            "read_weights",
            "read_weights address=0xfff1",
            "address must keep bytes 0xfff1 to 0x10000 inside weight memory",
        ),
        ("(address=0x0", "(address=0xfffd", "window must keep bytes 0xfffd to 0x10000 inside the unified buffer"),
        ("0x200 bytes=4", "0xfffd bytes=4", "address must keep bytes 0xfffd to 0x10000 inside the unified buffer"),
        ("0x200 bytes=4", "0x200 bytes=5", "offset must keep bytes 0x0 to 0x4 inside output 0, which has 4"),
        ("0x200 bytes=4", "0x200 bytes=4 tensor=1", "tensor must be one of 1 of output, not output 1"),
        (
            "read_host_memory bytes=4",
            "read_host_memory offset=1 bytes=4",
            "offset must keep bytes 0x1 to 0x4 inside input 0",
        ),
        ("clamp=-128,127", "clamp=-129,127", "scale.clamp must be inside -128 to 127, as int8 is, not -129 to 127"),
        ("clamp=-128,127", "clamp=5,4", "scale.clamp must be the smallest and the largest result, not 5 to 4"),
        ("zero_point=0", "zero_point=200", "scale.zero_point must be inside -128 to 127, as int8 is, not 200"),
        (
            "parameters=0x100",
            "parameters=0xfff0",
            "scale.parameters must keep bytes 0xfff0 to 0x1001f inside the unified buffer",
        ),
        ("rule=double", "rule=dble", "scale.rule must be one of nothing, double, single, float, divide, real, plain"),
        (
            "address=0x200 stride",
            "element=int16 table=0x0 address=0x200 stride",
            "element must be int8 or uint8 for a table",
        ),
        ("L4: activate", "L4: activate vectors=2", "L4 activate: stride_bytes must be at least 8"),
        (
            "in count=1",
            "in count=2",
            "S1 sync: count must be at most 1, the instructions of dma_in in the section, not 2",
        ),
        (
            "until=dma_in",
            "until=matrix",
            "count must be at most 0, the instructions of matrix before it in the section",
        ),
        ("until=dma_in count=1", "until=vector count=2", "S1 (sync) waits for the vector unit to retire 2 instr"),
        ("halt", "halt\nnop", "run[9] nop: must not stand behind a halt, where nothing runs"),
        ("L5:", "L4:", "L4: a label must belong to one instruction"),
    ],
)
def test_a_fault_of_the_run_has_its_sentence(old: str, new: str, fault: str) -> None:
    assert old in RUN
    run = RUN.replace(old, new, 1)
    if "stride_bytes must" in fault:
        run = run.replace("stride_bytes=4", "element=int16 stride_bytes=4")
    found = faults(small(run))
    assert any(fault in each for each in found), found


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (f"activate columns=4 {SCALE} vectors=16 {POOL}", "pool and window must be given both, or neither"),
        (
            f"activate columns=4 {SCALE} vectors=15 {POOL} {MAP} stride_bytes=4",
            "vectors must be 16, the pixels of the win",
        ),
        (
            f"activate columns=3 {SCALE} vectors=16 {POOL} {MAP} stride_bytes=4",
            "columns must be 4, the channels of the w",
        ),
        (f"activate columns=4 {SCALE} pool_first=true", "pool_first must be false where there is nothing to normalise"),
        (
            f"activate columns=4 {SCALE} normalise=(size=3 scaling=1 clamp=-200,1)",
            "normalise.clamp must be inside -128",
        ),
        (f"pool {MAP} {POOL} stride_bytes=3", "stride_bytes must be at least 4, the bytes of a vector, not 3"),
        (
            f"pool {MAP} {POOL}".replace("kernel=2,2", "kernel=1,1 padding=3,3"),
            "window must have an element inside of the",
        ),
        (f"pool {MAP} {POOL}".replace("clamp", "rule=real clamp"), "pool.rule and pool.scalings must be empty for max"),
        (
            f"pool {MAP} {AVERAGE}".replace("rule=real ", ""),
            "rule must be one of double, single, float, divide, real for average, not ''",
        ),
        (
            f"pool {MAP} {AVERAGE}".replace("kernel=2,2", "kernel=3,3"),
            "pool.scalings must have an entry for 6, 9 elements",
        ),
        (f"pool {MAP} {AVERAGE}".replace("[4,0,1,4,1,0]", "()"), "pool.scalings must have an entry for 4 elements"),
        (f"pool {MAP} {POOL}".replace("clamp=-128", "clamp=-129"), "pool.clamp must be inside -128 to 127"),
        (f"copy {NESTS}".replace("bytes=4)", "bytes=5)", 1), "destination must have 5 elements, as source has, not 4"),
        (
            f"copy {NESTS}".replace("bytes=4)", "bytes=4 counts=1)", 1),
            "source must have as many strides as counts (1), not 0",
        ),
        (f"softmax {NESTS} rule=plain scaling=1,2,3 clamp=0,128", "clamp must be inside -128 to 127, as int8 is"),
        (
            f"softmax {NESTS} rule=plain scaling=1 clamp=0,1".replace("bytes=4)", "bytes=2 counts=2 strides=2)", 1),
            "destination.bytes must be 2, as source has, not 4",
        ),
        (
            f"rescale {NESTS} rule=single multiplier=1 shift=0 input_zero_point=0 zero_point=0 clamp=0,1 result=int16",
            "destination must have 4 elements, as source has, not 2",
        ),
        (
            (
                "add a=(address=0x0 bytes=4) b=(address=0x0 bytes=3) destination=(address=0x0 bytes=4) rule=double "
                "scaling=1 clamp=0,1 element=int16"
            ),
            "b.bytes must be a multiple of 2, the bytes of int16, not 3",
        ),
        ("fill destination=(address=0x0 bytes=4) value=256", "value must be 0 to 255, not 256"),
        (
            "fill destination=(address=0xfffd bytes=4) value=0",
            "destination must keep bytes 0xfffd to 0x10000 inside the unified buf",
        ),
        (f"lookup {NESTS} table=0xff01", "table must keep bytes 0xff01 to 0x10000 inside the unified buffer"),
        (f"normalise {NESTS} normalise=(size=3 scaling=1,2,3,4,5,6,7 clamp=0,1) element=int16", None),
        (f"pool {MAP} {AVERAGE} stride_bytes=4", None),
        (f"activate columns=4 {SCALE} vectors=16 {POOL} {MAP} stride_bytes=4", None),
        (f"copy {NESTS}", None),
        (f"normalise {NESTS} normalise=(size=3 scaling=1 clamp=0,1)", "normalise.scaling must be 7 numbers, not 1"),
        (f"softmax {NESTS} rule=plain scaling=1 clamp=0,1", "a scaling must be 3 numbers for softmax by plain, not 1"),
        (
            f"softmax {NESTS} rule=double scaling=1 clamp=0,1",
            "rule must be one of plain, aligned, fixed for softmax, not 'double'",
        ),
        (f"pool {MAP} {AVERAGE}".replace("0,1,4", "0,1,0"), "a scaling must divide by at least 1, not by 0"),
        (
            f"activate columns=4 {SCALE}".replace("double", "real"),
            "rule must be one of double, single, float, divide, wide for",
        ),
    ],
)
def test_a_fault_of_the_vector_unit_has_its_sentence(line: str, fault: str | None) -> None:
    found = faults(program(f"V: {line}\nhalt"))
    assert any(fault in each for each in found) if fault else found == [], found


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "dtype=int8",
            "dtype=uint8",
            "input 'in0': dtype must be int8, or float32 with a scale, not uint8 with the scale",
        ),
        ("dtype=int8", "dtype=float32 scale=1e40", "scale must be 0 or 1e-30 to 1e+30, not 1e+40"),
        ("index=0", "index=-1", "index must be 0 or more, not -1"),
        ("index=0", "index=0 zero_point=128", "zero_point must be -128 to 127, not 128"),
        ("index=0", "index=0 rounding=up", "rounding must be a way to round, not 'up' (one of away, even)"),
        ("index=0", "index=0 lookup=1,2", "lookup must be 256 numbers from -128 to 127, not 2"),
        ("index=0", "index=0 inference=1", "inference must be below 1, not 1"),
        ("shape=1,4 axes=0,1 e", "shape=1,0 axes=0,1 e", "shape must be at least 1 each way"),
        ("shape=1,4 axes=0,1 e", "shape=1,4 axes=0,0 e", "axes must be 0 to 1 in some order, not (0, 0)"),
        ("shape=1,4 axes=0,1 e", "shape=1,4 axes=4,1 e", "axes must be 0 to 1 in some order, not (4, 1)"),
        ("shape=1,4 axes=0,1 e", "shape=1,4 axes=0 e", "axes must be 0 to 1 in some order, not (0,)"),
        ("after=L4", "after=L9", "tensor 't': after must be the label of an instruction of the run, not 'L9'"),
        ("address=0x200", "address=0xfffe", "address must keep it inside the unified buffer, which has 65536"),
        (
            "axes=0,1 dtype=int8",
            "axes=0,1 dtype=int9",
            "tensor 't': dtype must be one of int8, uint8, int16, not 'int9'",
        ),
        ("schedule=demand", "schedule=dmand", "batching: schedule must be one of none, demand, lcm, not 'dmand'"),
        ("batches=1", "batches=1,2", "batching: batches must be a size of 0 or more for each of 1 layers, not (1, 2)"),
        ("step layer=0", "step layer=1", "batching: step 0: layer must be below 1, not 1"),
        ("first=0", "first=1", "batching: step 0: must be of inferences 0 to 0, not 1 to 1"),
        ("label=L4", "label=L9", "batching: step 0: label must be that of an instruction of the run, not 'L9'"),
    ],
)
def test_a_fault_beside_the_instructions_has_its_sentence(old: str, new: str, fault: str) -> None:
    head = HEAD + TENSOR + STEPS
    assert old in head
    found = faults(small(head=head.replace(old, new, 1)))
    assert any(fault in each for each in found), found


def test_all_faults_come_at_once() -> None:
    run = (
        RUN.replace("columns=4 layer", "columns=5 layer")
        .replace("bytes=4", "bytes=5")
        .replace("in count=1", "in count=9")
    )
    found = faults(small(run, HEAD.replace("index=0", "index=-1")))
    assert [fault.split(":")[0] for fault in found] == [
        *(
            "input 'in0'",
            "output 'out0'",
            "L1 read_host_memory",
            "L3 matrix_multiply",
            "L5 write_host_memory",
            "S1 sync",
        )
    ]


def test_oracle_36_the_accumulators_hold_4096_vectors() -> None:
    """2048 vectors of sums can be written while 2048 others are read; 4097 are refused."""
    window = "window=(address=0x0 height=1 width=8192 channels=1)"
    keys = {"accumulators__entries": 4096}
    line = f"matrix_multiply {window} rows=1 columns=1"
    twice = f"read_weights\n{line} vectors=2048\n{line} vectors=2048 switch=false accumulator=2048\nhalt"
    assert faults(program(twice, **keys)) == []
    assert faults(program(f"read_weights\nL: {line} vectors=4097\nhalt", **keys)) == [
        "L matrix_multiply: accumulator must keep entries 0 to 4096 inside the accumulators, which have 4096"
    ]


TILES = "\n".join(["M: read_weights tiles={}", *[f"matrix_multiply {WINDOW} rows=4 columns=4"] * 7, "halt"])


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (TILES.format(7), None),
        (TILES.format(8), None),
        (TILES.format(12), None),  # 7 taken, one in the path, 4 in the FIFO
        (
            TILES.format(13),
            "M (read_weights) waits for a place for tile 13 of the section in the weight FIFO, which holds 4; 7 are",
        ),
        ("\n".join(["sync unit=vector until=dma_in count=1", *["copy " + NESTS] * 9, "halt"]), "at most 0"),
        # The queue of the vector unit is full before the sequencer comes to what its sync waits for.
        ("\n".join(["A: sync unit=vector until=matrix count=1", *["copy " + NESTS] * 8, TILES.format(7)]), None),
        (
            "\n".join(["A: sync unit=vector until=matrix count=1", *["copy " + NESTS] * 9, TILES.format(7)]),
            "A (sync) waits for the matrix unit to retire 1 instruction; it can retire 0",
        ),
    ],
)
def test_what_can_never_go_on_is_found(run: str, fault: str | None) -> None:
    found = faults(program(run))
    assert any(fault in each for each in found) if fault else found == [], found


def test_units_that_wait_for_each_other_are_found() -> None:
    lines = ["A: sync unit=vector until=matrix count=1", "B: sync unit=matrix until=vector count=1", "halt"]
    [circle] = faults(program("\n".join(lines)))
    assert circle.startswith("these wait in a circle: A (sync) waits for the matrix unit to retire 1 instruction")


def test_without_a_halt_it_is_sound() -> None:
    assert faults(small(RUN.replace("halt", ""))) == []

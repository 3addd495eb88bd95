"""Whether syncs order what must be ordered: any that is needed is missed, and none that is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.systolic.programs import program, small
from tilesim.systolic.isa.checks.footprints import SIZES, Footprint, accesses, nest_footprint, window_footprint
from tilesim.systolic.isa.checks.hazards import hazards
from tilesim.systolic.isa.checks.program import faults
from tilesim.systolic.isa.checks.untimed import UNITS, UntimedExecution
from tilesim.systolic.isa.model.instructions import Nest, Queue, Sync, Window
from tilesim.systolic.isa.model.program import Program

SCALE = "scale=(rule=double parameters=0x1000 zero_point=0 clamp=-128,127)"


def multiply(address: int, accumulator: int, channels: int = 4, **more: object) -> str:
    words = "".join(f" {key}={value}" for key, value in more.items())
    window = f"window=(address={address:#x} height=1 width=4 channels={channels})"
    return f"matrix_multiply {window} vectors=4 rows=4 columns=4 accumulator={accumulator}{words}"


def activate(address: int, accumulator: int, stride: int = 4) -> str:
    return f"activate columns=4 vectors=4 accumulator={accumulator} {SCALE} address={address:#x} stride_bytes={stride}"


def sync(unit: str, until: str, count: int) -> str:
    return f"sync unit={unit} until={until} count={count}"


def found(*lines: str) -> list[str]:
    ready = program("\n".join([*lines, "halt"]))
    assert faults(ready) == []
    return hazards(ready)


def test_a_small_program_is_in_order() -> None:
    assert hazards(small()) == []


@pytest.mark.parametrize(
    ("label", "what"),
    [
        ("S1", "L1 (read_host_memory) and L3 (matrix_multiply): both touch bytes 0x0 to 0x3 of the unified buffer"),
        ("S2", "L3 (matrix_multiply) and L4 (activate): both touch entries 0 to 0 of the accumulators"),
        ("S3", "L4 (activate) and L5 (write_host_memory): both touch bytes 0x200 to 0x203 of the unified buffer"),
    ],
)
def test_without_any_of_its_syncs_it_is_not(label: str, what: str) -> None:
    whole = small()
    kept = [op for op in whole.run if op.label != label]
    # A sync counts as an instruction: those that wait for one more of its unit wait for one less.
    gone = next(op for op in whole.run if op.label == label)
    run = tuple(
        replace(op, count=op.count - 1) if isinstance(op, Sync) and op.until is gone.queue else op for op in kept
    )
    assert hazards(replace(whole, run=run)) == [f"nothing orders {what}"]


DOUBLE = (
    "read_weights",
    multiply(0, 0),
    multiply(0, 32, switch="false"),
    sync("vector", "matrix", 1),
    activate(0x100, 0),
    sync("vector", "matrix", 2),
    activate(0x200, 32),
    sync("matrix", "vector", 2),
    multiply(0, 0, switch="false"),
)


def test_two_halves_of_the_accumulators_take_turns() -> None:
    assert found(*DOUBLE) == []
    assert found(*DOUBLE[:7], sync("matrix", "vector", 1), DOUBLE[8]) == [
        "nothing orders run[4] (activate) and run[8] (matrix_multiply): both touch entries 0 to 3 of the accumulators"
    ]


def test_what_a_unit_waited_for_its_followers_know() -> None:
    """Matrix after DMA, vector after matrix: so vector after DMA, too."""
    chain = ["read_weights", "read_host_memory bytes=16", sync("matrix", "dma_in", 1), multiply(0, 0)]
    chain += [sync("vector", "matrix", 2), activate(0, 0)]
    data = program("\n".join([*chain, "halt"]), head=".input name=i index=0 dtype=int8 shape=16 axes=0 element=int8")
    assert faults(data) == hazards(data) == []


def test_a_later_write_stands_for_those_before_it() -> None:
    """Only the last of a unit's accesses to a place is reported: the others are in order with it."""
    lines = ["fill destination=(address=0x0 bytes=4) value=0"] * 3
    assert found("read_weights", *lines, sync("matrix", "vector", 1), multiply(0, 0)) == [
        "nothing orders run[3] (fill) and run[5] (matrix_multiply): both touch bytes 0x0 to 0x3 of the unified buffer"
    ]


def test_the_vector_unit_reads_no_results_that_are_on_their_way() -> None:
    first, second = (
        f"copy source=(address={here:#x} bytes=8) destination=(address={there:#x} bytes=8)"
        for here, there in ((0, 8), (12, 0))
    )
    assert found(first, sync("vector", "vector", 1), second) == []
    assert found(first, second) == [
        "nothing orders run[0] (copy) and run[1] (copy): both touch bytes 0xc to 0xf of the unified buffer"
    ]


@pytest.mark.parametrize(("row", "ordered"), [(0, True), (4, False)])
def test_columns_of_one_map_are_told_apart(row: int, ordered: bool) -> None:
    """Two blocks of channels are written in turn; a multiplication may read the first while the second is written."""
    lines = ["read_weights", multiply(0x400, 0), sync("vector", "matrix", 1)]
    lines += [activate(0, 0, stride=8), sync("matrix", "vector", 2), activate(4, 0, stride=8)]
    lines += [multiply(0, 16, 8, first_row=row, switch="false")]
    assert (found(*lines) == []) is ordered


def test_loading_and_running_are_apart() -> None:
    weights = "read_host_memory source=data destination=weight_memory bytes=16"
    ready = program("read_weights\nhalt", load=f"{weights}\nhalt", data={"w": 16})
    assert hazards(ready) == []
    together = program(f"L1: {weights}\nL2: read_weights\nhalt", data={"w": 16})
    assert hazards(together) == [
        "nothing orders L1 (read_host_memory) and L2 (read_weights): both touch bytes 0x0 to 0xf of weight memory"
    ]


def covered(footprint: Footprint, size: int) -> set[int]:
    places = range(footprint.first, min(footprint.end, size))
    return {at for at in places if not footprint.period or (at - footprint.first) % footprint.period < footprint.width}


footprints = st.builds(
    lambda first, pieces, period, width: (
        Footprint(first, first + (pieces - 1) * period + width, period, width)
        if width < period
        else Footprint(first, first + width)
    ),
    st.integers(0, 40),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(1, 12),
)


@given(footprints, footprints)
def test_footprints_that_share_a_byte_meet(a: Footprint, b: Footprint) -> None:
    shared = covered(a, 200) & covered(b, 200)
    assert a.meets(b) == b.meets(a)
    assert a.meets(b) or not shared
    if a.period == b.period == 0 or 0 in (a.period, b.period):
        assert a.meets(b) == bool(shared)


@given(
    st.integers(1, 9),
    st.lists(st.tuples(st.integers(1, 4), st.integers(-20, 20)), max_size=3),
)
def test_a_nest_touches_its_footprint(length: int, loops: list[tuple[int, int]]) -> None:
    counts, strides = tuple(n for n, _ in loops), tuple(s for _, s in loops)
    starts = np.zeros(1, int) + 1000
    for count, stride in loops:
        starts = (starts[:, None] + np.arange(count) * stride).reshape(-1)
    touched = {int(start) + k for start in starts for k in range(length)}
    footprint = nest_footprint(Nest(1000, length, counts, strides))
    assert touched <= covered(footprint, 2000)
    assert (min(touched), max(touched) + 1) == (footprint.first, footprint.end)


@given(st.data())
def test_windows_touch_their_footprint(data: st.DataObject) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    size, channels, height, width, images = (
        SIZES[data.draw(st.sampled_from(list(SIZES)))],
        *(draw(1, 4) for _ in range(4)),
    )
    pixel = channels * size + draw(0, 2)
    row = width * pixel + draw(0, 2)
    window = Window(
        *(100, images, height * row + draw(0, 3), height, width, row, pixel, channels, draw(1, 3), draw(1, 3)),
        *((draw(1, 3), draw(1, 3)), (draw(1, 2), draw(1, 3)), (draw(1, 2), draw(1, 2)), (draw(-1, 2), draw(-1, 2))),
    )
    first, row_first = draw(0, window.positions - 1), draw(0, window.elements - 1)
    vectors, rows = draw(1, window.positions - first), draw(1, window.elements - row_first)
    touched = set()
    for at in range(first, first + vectors):
        n, rest = divmod(at, window.output_height * window.output_width)
        for element in range(row_first, row_first + rows):
            tap, c = divmod(element, channels)
            places = [
                out * window.strides[k] - window.padding[k] + kernel * window.dilations[k]
                for k, (out, kernel) in enumerate(
                    zip(divmod(rest, window.output_width), divmod(tap, window.kernel[1]), strict=True)
                )
            ]
            if 0 <= places[0] < height and 0 <= places[1] < width:
                start = 100 + n * window.image_bytes + places[0] * row + places[1] * pixel + c * size
                touched |= set(range(start, start + size))
    footprint = window_footprint(window, size, (first, vectors), (row_first, rows))
    assert touched <= (covered(footprint, 10**6) if footprint else set())
    if footprint:
        last = 100 + (images - 1) * window.image_bytes + (height - 1) * row + (width - 1) * pixel + channels * size
        assert 100 <= footprint.first < footprint.end <= last


@pytest.mark.parametrize(
    ("vectors", "tap", "touched"),
    [
        ((0, 64), 0, (0, 64)),  # the last 16 have nothing but padding above the third image
        ((0, 64), 2, (0, 128)),
        ((16, 8), 0, (0, 16)),
        ((8, 24), 4, (80, 96)),  # the first 16 have padding below the first image
        ((8, 16), 4, None),
        ((24, 16), 0, None),
    ],
)
def test_images_of_which_windows_have_nothing_but_padding_are_left_out(
    vectors: tuple[int, int], tap: int, touched: tuple[int, int] | None
) -> None:
    window = Window(0, 3, 48, 3, 8, 16, 2, 2, 3, 8, kernel=(5, 1), padding=(2, 0))
    footprint = window_footprint(window, 1, vectors, (2 * tap, 2))
    assert (footprint and (footprint.first, footprint.end)) == touched


def brute(whole: Program) -> bool:
    """Whether any two instructions, each compared with each, lack an order that they need."""
    execution = UntimedExecution(whole.run, whole.topology)
    touched = [(each, access) for each in execution.begun for access in accesses(whole.run[each.place], whole.topology)]
    for k, (later, here) in enumerate(touched):
        for earlier, there in touched[:k]:
            known = later.known[earlier.unit] >= earlier.count or earlier.place == later.place
            needed = here.writes or there.writes
            if earlier.unit == later.unit:
                needed = there.writes and not here.writes and UNITS[later.unit] is Queue.VECTOR
            if needed and not known and here.memory == there.memory and here.footprint.meets(there.footprint):
                return True
    return False


def nests(data: st.DataObject) -> str:
    count, stride = data.draw(st.sampled_from([(1, 4), (2, 4), (3, 4), (2, 8), (2, 3)]))
    address, length = data.draw(st.integers(0, 24)), data.draw(st.integers(1, 4))
    return f"(address={address} bytes={length} counts={count} strides={stride})"


def line(data: st.DataObject, before: dict[str, int]) -> str:
    """A random instruction, which waits for nothing that is not there yet."""
    unit = data.draw(st.sampled_from(["vector", "matrix", "dma_in", "dma_out"]))
    until = data.draw(st.sampled_from(sorted(before)))
    address = data.draw(st.integers(0, 24))
    before[unit] += 1
    if data.draw(st.booleans()) and before[until] > (until == unit):
        return sync(unit, until, data.draw(st.integers(1, before[until] - (until == unit))))
    return {
        "vector": lambda: (
            f"fill destination={nests(data)} value=0"
            if data.draw(st.booleans())
            else f"lookup source={nests(data)} destination={nests(data)} table=0x400"
        ),
        "matrix": lambda: multiply(address, 0, data.draw(st.sampled_from([4, 8])), switch="false"),
        "dma_in": lambda: f"read_host_memory address={address} bytes=5",
        "dma_out": lambda: f"write_host_memory address={address} bytes=5",
    }[unit]()


@settings(max_examples=150)
@given(st.data())
def test_what_is_found_is_what_comparing_all_with_all_finds(data: st.DataObject) -> None:
    before = dict.fromkeys(["vector", "matrix", "dma_in", "dma_out"], 0)
    lines = [line(data, before) for _ in range(data.draw(st.integers(2, 12)))]
    whole = program("\n".join([*lines, "halt"]))
    assert bool(hazards(whole)) == brute(whole), "\n".join(lines)

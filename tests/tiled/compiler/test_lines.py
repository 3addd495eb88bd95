"""Lines that come one by one: what is cut where, and what each row waits for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.compiler.feature_map import MapPart, MapShape
from tilesim.tiled.compiler.lines import (
    MOST_SEGMENTS,
    LineArrivals,
    by_segment,
    earliest,
    line_counts,
    runs,
    segments,
    sliced,
)
from tilesim.tiled.compiler.rows import block
from tilesim.tiled.isa.model.fields import Flag, Loop, Nest, Reference, Watcher
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.isa.model.loops import addresses

FLAG = Flag.WIDE_TO_NARROW
COUNTS = st.lists(st.integers(0, 30), min_size=1, max_size=12)


def part(lines: int, pixels: int, pixel_bytes: int = 4) -> MapPart:
    rows, columns = range(3, 3 + lines), range(pixels)
    line = pixels * pixel_bytes
    return MapPart(
        MapShape(99, 99, pixel_bytes), rows, columns, rows, columns, range(pixel_bytes), 0, line, pixel_bytes
    )


@pytest.mark.parametrize(
    ("lines", "pixels", "expected"),
    [
        (24, 24, [8, 8, 8]),  # 96 bytes: 8 lines fill 3 rows of 256
        (56, 56, [8] * 7),  # 224 bytes: 8 lines fill 7
        (20, 24, [8, 8, 4]),
        (13, 3, [13]),  # 64 lines would fill 3
        (0, 64, []),
        (3, 64, [3]),  # each fills a row, but there are less than FEWEST_LINES
        (4, 64, [1, 1, 1, 1]),
        (96, 96, [12] * 8),  # 2 lines fill 3, but no more than MOST_SEGMENTS
    ],
)
def test_parts_are_cut_where_lines_and_wide_rows_end(lines: int, pixels: int, expected: list[int]) -> None:
    cut = segments(part(lines, pixels), 256)
    assert [len(rows) for rows in cut] == expected
    assert [row for rows in cut for row in rows] == [*range(3, 3 + lines)]
    assert len(cut) <= MOST_SEGMENTS


@given(st.integers(1, 40), st.integers(1, 90), st.sampled_from([64, 256]), st.integers(0, 9))
def test_a_line_is_whole_when_all_rows_with_a_byte_of_it_are(
    lines: int, pixels: int, row_bytes: int, before: int
) -> None:
    counts = line_counts(part(lines, pixels), row_bytes, before)
    for line, count in enumerate(counts):
        last_byte = (line + 1) * pixels * 4 - 1
        assert (count - before - 1) * row_bytes <= last_byte < (count - before) * row_bytes


def expected_in(watchers: tuple[Watcher, ...], k: int) -> int:
    """What round k has behind it, without the strict comparison."""
    return max(0, *(watcher.expected + (k * watcher.stride if watcher.loop else 0) for watcher in watchers))


@given(COUNTS)
def test_rounds_wait_for_what_they_need_and_for_nothing_that_never_comes(counts: list[int]) -> None:
    watchers = earliest(FLAG, counts, strict=False)
    for k, count in enumerate(counts):
        assert count <= expected_in(watchers, k) <= max(counts)
    stricter = earliest(FLAG, counts, strict=True)
    assert [watcher.expected for watcher in stricter] == [watcher.expected - 1 for watcher in watchers]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([3, 4, 5, 6], [Watcher(FLAG, 3, "y", 1)]),
        ([3, 5, 7, 9], [Watcher(FLAG, 3, "y", 2)]),
        ([9, 9, 9], [Watcher(FLAG, 9)]),
        ([19, 18, 17, 20], [Watcher(FLAG, 19), Watcher(FLAG, 17, "y", 1)]),  # the last alone needs what comes last
        ([0, 0, 0, 4], [Watcher(FLAG, -8, "y", 4)]),
        ([3, 4, 5, 5], [Watcher(FLAG, 5)]),
    ],
)
def test_watchers_by_hand(counts: list[int], expected: list[Watcher]) -> None:
    assert [*earliest(FLAG, counts, strict=False)] == expected


@given(st.integers(2, 24), st.integers(1, 3), st.integers(1, 300))
def test_a_traversal_that_waits_by_segment_touches_the_same_in_the_same_order(
    lines: int, words: int, line_bytes: int
) -> None:
    whole = block(64, lines, 4 * line_bytes, words, 4)
    counts = [-(-(k + 1) * line_bytes // 256) for k in range(lines)]
    cut, rounds = by_segment(whole, counts)
    np.testing.assert_array_equal(addresses(cut.nest, cut.reference), addresses(whole.nest, whole.reference))
    watchers = earliest(FLAG, rounds, strict=False, loop=cut.nest.loops[0].name)
    size = lines // len(rounds)
    for line, count in enumerate(counts):
        assert count <= expected_in(watchers, line // size)


def test_lines_of_224_bytes_are_sent_seven_at_a_time() -> None:
    counts = [-(-(k + 1) * 224 // 256) for k in range(56)]
    cut, rounds = by_segment(block(0, 56, 228, 2, 4), counts)
    assert cut.nest.loops[:2] == (Loop("q", 8), Loop("y", 7))
    assert earliest(FLAG, rounds, strict=False, loop="q") == (Watcher(FLAG, 7, "q", 6),)


@given(st.integers(1, 20), st.lists(st.integers(0, 25)), st.data())
def test_runs_make_each_row_once_and_late_ones_last(rows: int, ends: list[int], data: st.DataObject) -> None:
    late = data.draw(st.integers(0, rows - 1))
    made = [row for rounds in runs(rows, ends, late) for row in rounds]
    assert made == [*range(late, rows), *range(late)]


@given(st.integers(1, 6), st.integers(0, 5), st.sampled_from([-1, 1]))
def test_slices_of_a_tensorop_make_together_what_it_makes(bound: int, cut: int, step: int) -> None:
    nest = Nest((Loop("y", bound), Loop("x", 3), Loop("kx", 2), Loop("lane", 4)))
    op = TensorOp(
        tiles=1,
        operation=Operation.CONVOLUTION,
        nest=nest,
        reduce=("kx",),
        input=Reference(4000, (("y", step * 80), ("x", 8), ("kx", 4))),
        weights=Reference(0, (("kx", 256),)),
        output=Reference(9000, (("y", step * 40), ("x", 4))),
    )
    pieces = [sliced(op, rounds) for rounds in runs(bound, [cut], 0)]
    for name in ("input", "weights", "output"):
        parts = [addresses(piece.nest, getattr(piece, name)) for piece in pieces]
        np.testing.assert_array_equal(np.concatenate(parts), addresses(nest, getattr(op, name)))


def test_lines_have_come_with_their_own_rise_or_with_the_last() -> None:
    upwards = LineArrivals(FLAG, range(5, 1, -1), 7, by_line=True)
    assert [upwards.count(range(row, row + 1)) for row in (5, 4, 2, 1)] == [7, 8, 10, 0]
    assert upwards.count(range(3, 9)) == 9
    assert LineArrivals(FLAG, range(2), 7, by_line=False).count(range(1, 2)) == 7

"""Syncs: as many as are needed, none that others imply."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.networks import Weave
from tests.systolic.compiled import at_chip, chip, compare, exact, golden, inputs_of
from tests.systolic.disorder import Disorder
from tests.systolic.handmade import topology
from tilesim.batching import graph_of, plan
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.compiler.emitter import synchronised, touched
from tilesim.systolic.isa.checks.footprints import BUFFER, accesses
from tilesim.systolic.isa.model.instructions import (
    Activate,
    Copy,
    Fill,
    Instruction,
    MatrixMultiply,
    Nest,
    Queue,
    ReadHostMemory,
    Scale,
    Sync,
    Window,
    WriteHostMemory,
)

CHIP = topology()


def read(address: int, count: int = 10) -> Instruction:
    return ReadHostMemory(address=address, bytes=count)


def write(address: int, count: int = 10) -> Instruction:
    return WriteHostMemory(address=address, bytes=count)


def multiply(address: int, entry: int = 0) -> Instruction:
    """Ten bytes for the sums of an entry."""
    return MatrixMultiply(window=Window(address, 1, 10, 1, 1, 10, 10, 10, 1, 1), rows=10, accumulator=entry)


def activate(address: int, entry: int = 0) -> Instruction:
    return Activate(accumulator=entry, scale=Scale("double", 1000, 0, (0, 0)), address=address, columns=10)


def copy(source: int, destination: int) -> Instruction:
    return Copy(source=Nest(source, 10), destination=Nest(destination, 10))


def syncs(*ops: Instruction) -> list[tuple[int, str, str, int]]:
    """In front of which instruction whom who waits for, and how many."""
    waits, place = [], 0
    for op in synchronised(ops, CHIP):
        if isinstance(op, Sync):
            waits.append((place, op.unit.value, op.until.value, op.count))
        else:
            place += 1
    return waits


def test_who_reads_waits_for_who_writes() -> None:
    assert syncs(read(0), multiply(0)) == [(1, "matrix", "dma_in", 1)]
    assert syncs(read(0), multiply(10)) == []


def test_who_writes_waits_for_who_reads_and_writes() -> None:
    assert syncs(write(0), read(5)) == [(1, "dma_in", "dma_out", 1)]
    assert syncs(read(0), copy(50, 0)) == [(1, "vector", "dma_in", 1)]


def test_queues_keep_their_own_order_but_the_vector_unit_waits_for_what_it_reads() -> None:
    assert syncs(read(0), read(0), multiply(50), multiply(50)) == []
    assert syncs(copy(0, 20), copy(20, 40)) == [(1, "vector", "vector", 1)]
    assert syncs(copy(0, 20), copy(20, 40), copy(20, 60)) == [(1, "vector", "vector", 1)]
    assert syncs(copy(0, 20), copy(50, 20), copy(30, 0)) == []


def test_syncs_count_among_the_instructions_of_their_queue() -> None:
    assert syncs(read(0), copy(0, 20), copy(60, 80), write(80)) == [
        (1, "vector", "dma_in", 1),
        (3, "dma_out", "vector", 3),
    ]


def test_accumulators_are_not_filled_again_before_their_sums_have_left() -> None:
    chain = [multiply(0, 0), activate(50, 0), multiply(0, 1), multiply(0, 0)]
    assert syncs(*chain) == [(1, "vector", "matrix", 1), (3, "matrix", "vector", 2)]


def test_what_another_wait_implies_is_not_waited_for() -> None:
    """The output's bytes are there when the sums are, which are when the input is: but a second input is not."""
    first = [read(0), multiply(0), activate(20), copy(0, 40)]
    assert syncs(*first) == [(1, "matrix", "dma_in", 1), (2, "vector", "matrix", 2)]
    assert syncs(*first, read(60), copy(60, 80))[2:] == [(5, "vector", "dma_in", 2)]


def test_of_several_waits_the_one_that_implies_the_others_is_enough() -> None:
    """What was copied from an input was copied when the input was there."""
    ops = [read(0), copy(0, 10), WriteHostMemory(address=0, bytes=20)]
    assert syncs(*ops) == [(1, "vector", "dma_in", 1), (2, "dma_out", "vector", 2)]


OPS = st.one_of(
    st.builds(read, st.integers(0, 30), st.integers(1, 9)),
    st.builds(write, st.integers(0, 30), st.integers(1, 9)),
    st.builds(multiply, st.integers(0, 30), st.integers(0, 2)),
    st.builds(activate, st.integers(0, 30), st.integers(0, 2)),
    st.builds(copy, st.integers(0, 30), st.integers(0, 30)),
    st.builds(lambda address: Fill(destination=Nest(address, 5), value=0), st.integers(0, 30)),
)


@given(st.lists(OPS, max_size=14))
def test_every_conflict_is_ordered_and_no_sync_could_be_left_out(ops: list[Instruction]) -> None:
    stream = synchronised(ops, CHIP)
    assert [op for op in stream if not isinstance(op, Sync)] == ops
    assert not missing(stream)
    for place, op in enumerate(stream):
        if isinstance(op, Sync):
            assert missing(recounted(stream, place)), f"{op} is not needed"


def recounted(stream: Iterable[Instruction], left_out: int) -> list[Instruction]:
    """The stream without a sync; others count one instruction less of its queue if it came before."""
    ops = list(stream)
    gone = ops.pop(left_out)
    number = sum(op.queue is gone.queue for op in ops[:left_out]) + 1
    return [
        Sync(unit=op.unit, until=op.until, count=op.count - (op.until is gone.queue and op.count > number))
        if isinstance(op, Sync)
        else op
        for op in ops
    ]


def missing(stream: Iterable[Instruction]) -> list[tuple[int, int]]:
    """Conflicts of instructions that nothing keeps in order: an independent look at who is done when another begins."""
    done: list[set[int]] = []
    by_queue: dict[Queue | None, list[int]] = {queue: [] for queue in Queue}
    ops = list(stream)
    conflicts = []
    for place, op in enumerate(ops):
        before = set(done[by_queue[op.queue][-1]]) if by_queue[op.queue] else set()
        if isinstance(op, Sync):
            waited = by_queue[op.until][: op.count]
            before = before.union(waited, *(done[instruction] for instruction in waited))
        done.append(before)
        conflicts += [(k, place) for k in range(place) if k not in before and conflict(ops[k], op)]
        by_queue[op.queue].append(place)
    return conflicts


def conflict(first: Instruction, second: Instruction) -> bool:
    kinds = {
        (a.writes, b.writes)
        for a in touched(first, CHIP)
        for b in touched(second, CHIP)
        if a.memory == b.memory and a.footprint.meets(b.footprint)
    }
    if first.queue is second.queue:
        return (True, False) in kinds and first.queue is Queue.VECTOR
    return bool(kinds - {(False, False)})


def test_without_a_sync_some_order_of_the_units_goes_wrong() -> None:
    """The tests' units side by side notice what is missing."""
    weave = Weave()
    network = weave.network(weave.convolution(weave.convolution(weave.input(6, 6, 3), 5), 4))
    program = compile_network(network, chip("systolic-4", {"weight_memory.size_bytes": "1 MiB"}))
    expected = golden(network, inputs_of(network))
    wrong = Disorder(program, at_chip(network, expected))
    wrong.ordered = False
    wrong.disordered(np.random.default_rng(0))
    with pytest.raises(AssertionError, match="Mismatch"):
        compare(network, wrong, expected)


@given(st.data())
@settings(max_examples=200)
def test_windows_reach_no_further_than_the_compiler_thinks(data: st.DataObject) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    images, height, width, channels = (draw(1, 4) for _ in range(4))
    window = Window(
        *(100, images, height * width * channels + draw(0, 5), height, width, width * channels, channels, channels),
        *(draw(1, 3), draw(1, 3), (draw(1, 3), draw(1, 3)), (draw(1, 3), draw(1, 3)), (draw(1, 2), draw(1, 2))),
        (draw(-3, 3), draw(-3, 3)),
    )
    first, row = draw(0, window.positions - 1), draw(0, window.elements - 1)
    op = MatrixMultiply(
        window=window, first=first, vectors=draw(1, window.positions - first), first_row=row,
        rows=draw(1, window.elements - row), columns=1,
    )  # fmt: skip
    [there] = [access.footprint for access in touched(op, CHIP) if access.memory == BUFFER]
    for access in accesses(op, CHIP):
        if access.memory == BUFFER:
            assert there.first <= access.footprint.first < access.footprint.end <= there.end


def test_a_position_of_the_kernel_that_is_outside_of_all_images_waits_for_none_of_them() -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(1, 1, 1), 1))
    changes = {"array.rows": 1, "array.columns": 2, "value_loaders.feed": "channels"}
    exact(network, chip("systolic-4", changes), plan(graph_of(network), 2, 2, "demand"), order=1)

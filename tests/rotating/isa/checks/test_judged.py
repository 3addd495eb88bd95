"""Order, deadlocks and rows that nobody wrote: random small programs, judged by what happens before what."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.rotating.isa.checks.judge import Judge, Row
from tests.rotating.programs import chip
from tilesim.rotating.isa.checks.hazards import hazards
from tilesim.rotating.isa.checks.moves import ram_key
from tilesim.rotating.isa.checks.order import Order
from tilesim.rotating.isa.checks.section import Section
from tilesim.rotating.isa.checks.unwritten import Written
from tilesim.rotating.isa.model.instructions import (
    Counter,
    End,
    Function,
    Halt,
    Instruction,
    Loop,
    Out,
    Parameters,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
    WriteHostMemory,
)

DATA_ROWS, WEIGHT_ROWS = 6, 7
TOPOLOGY = chip(
    64,
    units={"count": 64, "word_bits": 16},
    data_ram={"rows": DATA_ROWS},
    weight_ram={"rows": WEIGHT_ROWS},
)
HALVES = chip(
    64,
    units={"count": 64, "word_bits": 16},
    data_ram={"rows": DATA_ROWS},
    weight_ram={"rows": WEIGHT_ROWS, "shape": "half_rows"},
)


class Draw:
    """A random section: what the array does in up to two loops, and what DMA does meanwhile."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)  # noqa: S311  (no secrets)
        self.counts: list[int] = []
        self.topology = self.rng.choice([TOPOLOGY, TOPOLOGY, HALVES])

    def ops(self) -> tuple[Instruction, ...]:
        array, dma = self._block(self.rng.randint(2, 6)), [self._dma() for _ in range(self.rng.randint(0, 6))]
        merged: list[Instruction] = []
        while array or dma:
            loops = sum(isinstance(op, Loop) - isinstance(op, End) for op in merged)
            take = array if not dma or (array and (loops or self.rng.random() < 0.5)) else dma
            merged.append(take.pop(0))
        return (*merged, Halt())

    def rows(self, size: int, contiguous: int = 1, repeat: int = 1) -> Rows:
        strides = tuple(self.rng.choice([0, 0, 1, 1, -1]) for _ in self.counts)
        step = self.rng.choice([0, 1]) if repeat > 1 else 0
        reach = [stride * (count - 1) for stride, count in zip(strides, self.counts, strict=True)]
        reach += [step * (repeat - 1) + contiguous - 1]
        low, high = -sum(min(0, r) for r in reach), size - 1 - sum(max(0, r) for r in reach)
        if low > high:
            return Rows(0)
        return Rows(self.rng.randint(low, high), strides, step)

    def _block(self, length: int) -> list[Instruction]:
        return [op for _ in range(length) for op in self._some()]

    def _some(self) -> list[Instruction]:
        kind = self.rng.choice(["step", "step", "out", "out", "sync", "parameters", "loop"])
        if kind == "loop" and len(self.counts) < 2:
            self.counts.append(self.rng.randint(1, 3))
            body = self._block(self.rng.randint(1, 3))
            return [Loop(count=self.counts.pop()), *body, End()]
        if kind == "parameters":
            table = self.rng.random() < 0.3
            rows = self.topology.table_rows if table else self.topology.parameter_rows
            return [Parameters(row=self.rows(WEIGHT_ROWS, rows), set=self.rng.randint(0, 1), table=table)]
        if kind == "sync":
            return [self._sync(Queue.ARRAY)]
        return [self._out() if kind == "out" else self._step()]

    def _step(self) -> Step:
        repeat = self.rng.choice([1, 1, 2])
        data = self.rows(DATA_ROWS, repeat=repeat) if self.rng.random() < 0.6 else None
        weights = self.rows(self.topology.weight_addresses, repeat=repeat) if self.rng.random() < 0.6 else None
        return Step(data=data, weights=weights, repeat=repeat)

    def _out(self) -> Out:
        data = self.rows(DATA_ROWS) if self.rng.random() < 0.3 else None
        function = self.rng.choice([*Function, Function.REQUANTISE])
        rows = self.rows(DATA_ROWS, 4 if function is Function.RAW else 1)
        return Out(row=rows, data=data, function=function, set=self.rng.randint(0, 1))

    def _sync(self, unit: Queue) -> Sync:
        strides = tuple(self.rng.choice([0, 0, 1]) for _ in self.counts)
        until = self.rng.choice(list(Counter))
        return Sync(unit=unit, until=until, count=self.rng.randint(0, 4), strides=strides)

    def _dma(self) -> Instruction:
        rows = self.rng.randint(1, 2)
        row, offset = self.rng.randint(0, DATA_ROWS - rows), self.rng.randint(0, 1)
        kind = self.rng.choice(["in", "out", "sync in", "sync out"])
        if kind == "in":
            ram, scratch = self.rng.choice(list(Ram)), self.rng.random() < 0.5
            moved = ReadHostMemory(source="data", offset=offset, rows=rows, ram=ram, row=row)
            return replace(moved, source="scratch") if scratch else moved
        if kind == "out":
            return WriteHostMemory(destination="scratch", offset=offset, rows=rows, row=row)
        self.counts, around = [], self.counts
        sync = self._sync(Queue.DMA_IN if kind == "sync in" else Queue.DMA_OUT)
        self.counts = around
        return sync


def before(rng: Random) -> tuple[Written, set[Row]]:
    """Some rows that a section before has written."""
    written, rows = Written(TOPOLOGY), set[Row]()
    for ram, name in ((Ram.DATA, "data"), (Ram.WEIGHT, "weight")):
        for row in range(len(written.rams[ram])):
            written.rams[ram][row] = rng.random() < 0.7
            rows |= {(name, row)} if written.rams[ram][row] else set()
    return written, rows


def places(sentence: str) -> list[int]:
    """Those of ``run[3] (out)``, in the order in which they are named."""
    return [int(part.split("]")[0]) for part in sentence.split("run[")[1:]]


COUNT = 300


@pytest.mark.parametrize("part", range(5))
def test_checks_find_what_the_judge_finds(part: int) -> None:
    kinds = {"deadlock": 0, "unordered": 0, "ordered": 0, "unwritten": 0}
    for seed in range(part * COUNT, (part + 1) * COUNT):
        draw = Draw(seed)
        ops = draw.ops()
        judge, order = Judge(ops, draw.topology), Order(Section("run", ops, draw.topology))
        assert bool(order.held) == (not judge.met), (seed, ops)
        if order.held:
            assert order.deadlock.sentences()
            kinds["deadlock"] += 1
            continue
        unordered = judge.unordered()
        named = {(min(pair), max(pair)) for pair in map(places, hazards(order))}
        assert named <= unordered, (seed, ops)
        assert bool(named) == bool(unordered), (seed, ops, unordered)
        written, rows = before(draw.rng)
        unwritten = {places(sentence)[0] for sentence in written.faults(order)}
        assert unwritten == judge.unwritten(rows), (seed, ops)
        kinds["unordered" if unordered else "ordered"] += 1
        kinds["unwritten"] += bool(unwritten)
    assert min(kinds.values()) > COUNT // 50, kinds


def test_what_a_section_writes_is_there_in_the_next() -> None:
    written = Written(TOPOLOGY)
    for seed in range(COUNT):
        draw = Draw(seed)
        ops = draw.ops()
        judge, order = Judge(ops, draw.topology), Order(Section("run", ops, draw.topology))
        if order.held:
            continue
        written = Written(TOPOLOGY)
        written.faults(order)
        rows = {row for event in judge.events for row in event.writes}
        for ram, name in ((Ram.DATA, "data"), (Ram.WEIGHT, "weight")):
            assert set(written.rams[ram].nonzero()[0]) == {row for kind, row in rows if kind == name}
        scratch = {row for kind, row in rows if kind == "scratch 0"}
        first = 2 * ram_key(Ram.WEIGHT)
        assert {key - first for key in written.scratch.tolist()} == scratch

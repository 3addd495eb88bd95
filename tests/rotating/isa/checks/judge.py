"""Whether anything orders two accesses of a row, by what happens before what: slow, and nothing of the checks is in it.

Each turn of each instruction, and each row that a unit moves for it, is an event; an arrow leads from one to another
that cannot happen before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.topology import Topology

Row = tuple[str, int]


@dataclass
class Event:
    """Something that the instruction at ``place`` does, with the ``rows`` that it reads and writes."""

    place: int
    unit: str
    reads: list[Row] = field(default_factory=list)
    writes: list[Row] = field(default_factory=list)
    after: list[Event] = field(default_factory=list)
    serial: int = 0
    past: set[int] = field(default_factory=set)


def unrolled(ops: Sequence[isa.Instruction]) -> list[tuple[int, isa.Instruction, tuple[int, ...]]]:
    """What the array carries out, turn by turn."""

    def block(
        place: int, end: int, counters: tuple[int, ...]
    ) -> Iterator[tuple[int, isa.Instruction, tuple[int, ...]]]:
        while place < end:
            op = ops[place]
            if isinstance(op, isa.Loop):
                depth, last = 1, place
                while depth:
                    last += 1
                    depth += isinstance(ops[last], isa.Loop) - isinstance(ops[last], isa.End)
                for turn in range(op.count):
                    yield from block(place + 1, last, (*counters, turn))
                place = last
            elif op.queue is isa.Queue.ARRAY:
                yield place, op, counters
            place += 1

    halts = [place for place, op in enumerate(ops) if isinstance(op, isa.Halt)]
    return list(block(0, halts[0] if halts else len(ops), ()))


class Judge:
    """All events of a section; ``met``: whether each sync waits for something that comes."""

    def __init__(self, ops: Sequence[isa.Instruction], topology: Topology) -> None:
        self.topology = topology
        self.events: list[Event] = []
        self.counted: dict[str, list[Event]] = {"array": [], "output": [], "dma_in": [], "dma_out": []}
        self.syncs: list[tuple[Event, str, int]] = []
        self._array(ops)
        self._dma_in(ops)
        self._dma_out(ops)
        self.met = all(count <= len(self.counted[until]) for _, until, count in self.syncs)
        if self.met:
            for event, until, count in self.syncs:
                if count > 0:
                    event.after.append(self.counted[until][count - 1])
            self.met = self._close()

    def unordered(self) -> set[tuple[int, int]]:
        """Places of instructions that touch a row, one of them to write it, without an order."""
        touching: dict[Row, list[tuple[Event, bool]]] = {}
        for event in self.events:
            for rows, writes in ((event.reads, False), (event.writes, True)):
                for row in rows:
                    touching.setdefault(row, []).append((event, writes))
        pairs = set()
        for accesses in touching.values():
            for at, (one, wrote) in enumerate(accesses):
                for other, writes in accesses[:at]:
                    apart = one.serial not in other.past and other.serial not in one.past and one is not other
                    if apart and (wrote or writes) and one.unit != other.unit:
                        pairs.add((min(one.place, other.place), max(one.place, other.place)))
        return pairs

    def unwritten(self, before: set[Row]) -> set[int]:
        """Places of instructions that read a row of which all writes come later, if there are any."""
        writers: dict[Row, list[Event]] = {}
        for event in self.events:
            for row in event.writes:
                writers.setdefault(row, []).append(event)
        return {
            event.place
            for event in self.events
            for row in event.reads
            if row not in before and all(event is w or event.serial in w.past for w in writers.get(row, []))
        }

    def _event(self, place: int, unit: str, *after: Event | None) -> Event:
        event = Event(place, unit, after=[other for other in after if other], serial=len(self.events))
        self.events.append(event)
        return event

    def _close(self) -> bool:
        """Find what is before each event; false, if some are before themselves."""
        todo = list(self.events)
        done: set[int] = set()
        while todo:
            ready = [event for event in todo if all(other.serial in done for other in event.after)]
            if not ready:
                return False
            for event in ready:
                event.past = {serial for other in event.after for serial in (*other.past, other.serial)}
                done.add(event.serial)
            todo = [event for event in todo if event.serial not in done]
        return True

    def _array(self, ops: Sequence[isa.Instruction]) -> None:
        now: Event | None = None
        written: dict[int, Event] = {}
        fetched: dict[object, Event] = {}
        last_write: Event | None = None
        last_fetch: Event | None = None
        for place, op, counters in unrolled(ops):
            now = self._event(place, "array", now)
            if isinstance(op, isa.Sync):
                count = op.count + sum(a * b for a, b in zip(op.strides, counters, strict=False))
                self.syncs.append((now, op.until.value, count))
            elif isinstance(op, (isa.Step, isa.Out)):
                repeat = op.repeat if isinstance(op, isa.Step) else 1
                for turn in range(repeat if op.data else 0):
                    row = op.data.address(counters, turn)  # type: ignore[union-attr]
                    now.reads.append(("data", row))
                    now.after += [written[row]] if row in written else []
                if isinstance(op, isa.Step) and op.weights:
                    halves = 2 if self.topology.weight_ram.shape == "half_rows" else 1
                    now.reads += [("weight", op.weights.address(counters, k) // halves) for k in range(repeat)]
            if isinstance(op, isa.Out):
                self.counted["array"].append(now)
                need = {isa.Function.REQUANTISE: op.set, isa.Function.LOOKUP: "table"}.get(op.function)
                now.after += [fetched[need]] if need in fetched else []
                first = op.row.address(counters)
                for row in range(first, first + (4 if op.function is isa.Function.RAW else 1)):
                    last_write = self._event(place, "output", now, last_write)
                    last_write.writes.append(("data", row))
                    self.counted["output"].append(last_write)
                    written[row] = last_write
            elif isinstance(op, isa.Parameters):
                last_fetch = self._event(place, "fetch", now, last_fetch)
                rows = self.topology.table_rows if op.table else self.topology.parameter_rows
                last_fetch.reads += [("weight", op.row.address(counters) + k) for k in range(rows)]
                fetched["table" if op.table else op.set] = last_fetch

    def _dma_in(self, ops: Sequence[isa.Instruction]) -> None:
        now: Event | None = None
        last: Event | None = None
        for place, op in enumerate(ops):
            if op.queue is not isa.Queue.DMA_IN:
                continue
            now = self._event(place, "dma_in", now)
            if isinstance(op, isa.Sync):
                self.syncs.append((now, op.until.value, op.count))
            elif isinstance(op, isa.ReadHostMemory):
                for k in range(op.rows):
                    last = self._event(place, "dma_in", now, last)
                    last.writes.append(("data" if op.ram is isa.Ram.DATA else "weight", op.row + k))
                    if op.source == "scratch":
                        last.reads.append((f"scratch {op.tensor}", op.offset + k))
                    self.counted["dma_in"].append(last)

    def _dma_out(self, ops: Sequence[isa.Instruction]) -> None:
        now: Event | None = None
        last: Event | None = None
        for place, op in enumerate(ops):
            if op.queue is not isa.Queue.DMA_OUT:
                continue
            now = self._event(place, "dma_out", now)
            if isinstance(op, isa.Sync):
                self.syncs.append((now, op.until.value, op.count))
            elif isinstance(op, isa.WriteHostMemory):
                for k in range(op.rows):
                    last = self._event(place, "dma_out", now, last)
                    last.reads.append(("data", op.row + k))
                    if op.destination == "scratch":
                        last.writes.append((f"scratch {op.tensor}", op.offset + k))
                    self.counted["dma_out"].append(last)

"""What each queue carries out, in order: the array's with its loops unrolled, those of DMA as they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.rotating.isa.model.instructions import End, Halt, Instruction, Loop, Queue

Issued = tuple[int, Instruction, tuple[int, ...]]
"""The place of an instruction in its section, itself, and the counters of the loops around it, outermost first."""
_Run = list[tuple[int, Instruction]]


def walk(ops: Sequence[Instruction]) -> Iterator[Issued]:
    """What the array carries out, one turn of a loop after the other, syncs of its own included.

    Loops and their ends are left out. A halt comes last; without one, what stands last does. ``ops`` must be without
    faults of loops. Nothing is unrolled before it is asked for.
    """
    runs = _runs(ops)
    counters: tuple[int, ...] = ()
    begins: list[int] = []
    place = 0
    while place < len(ops):
        op = ops[place]
        if isinstance(op, Loop):
            begins.append(place)
            counters = (*counters, 0)
            place += 1
        elif isinstance(op, End):
            begin, turn = begins[-1], counters[-1] + 1
            loop = ops[begin]
            assert isinstance(loop, Loop)
            if turn < loop.count:
                counters = (*counters[:-1], turn)
                place = begin + 1
            else:
                begins.pop()
                counters = counters[:-1]
                place += 1
        else:
            run, place, halts = runs[place]
            for here, issued in run:
                yield here, issued, counters
            if halts:
                return


def _runs(ops: Sequence[Instruction]) -> dict[int, tuple[_Run, int, bool]]:
    """What stands between loops and ends, by its first place: what of it is the array's, the place behind, and whether
    the array halts in it.
    """
    runs: dict[int, tuple[_Run, int, bool]] = {}
    first, run = 0, _Run()
    for place, op in enumerate(ops):
        if isinstance(op, (Loop, End)):
            runs[first] = run, place, False
            first, run = place + 1, _Run()
        elif op.queue is Queue.ARRAY:
            run.append((place, op))
            if isinstance(op, Halt):
                runs[first] = run, place + 1, True
                return runs
    runs[first] = run, len(ops), False
    return runs


def queued(ops: Sequence[Instruction], queue: Queue) -> list[tuple[int, Instruction]]:
    """What one of the two DMA units carries out, with the places: none of it stands in a loop."""
    return [(place, op) for place, op in enumerate(ops) if op.queue is queue]

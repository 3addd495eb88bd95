"""The tensor traversal unit: nested counters, one step a cycle, and the addresses that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tilesim.tiled.isa.model.fields import Flag, Loop, Nest, Reference, Watcher


class Iteration(Struct, frozen=True):
    """The loops' counters in one iteration of the innermost body.

    ``begins`` are the loops of which an iteration begins here, ``completes`` those that are through after it.
    """

    counters: Mapping[str, int]
    begins: tuple[str, ...]
    completes: tuple[str, ...]

    def address(self, reference: Reference) -> int:
        return reference.base + sum(self.counters.get(loop, 0) * stride for loop, stride in reference.strides)


def walk(nest: Nest) -> Iterator[Iteration]:
    """Every iteration in order."""
    counters = [0] * len(nest.loops)
    while True:
        bounds = _bounds(nest, counters)
        yield _step(nest.loops, counters, bounds)
        place = len(counters) - 1
        while place >= 0 and counters[place] == bounds[place] - 1:
            counters[place] = 0
            place -= 1
        if place < 0:
            return
        counters[place] += 1


def _bounds(nest: Nest, counters: Sequence[int]) -> list[int]:
    """How often each loop runs now: the innermost one less often in the last iteration of the alternate's loop."""
    bounds = [loop.bound for loop in nest.loops]
    for loop, counter in zip(nest.loops, counters, strict=True):
        if nest.alternate and loop.name == nest.alternate.loop and counter == loop.bound - 1:
            bounds[-1] = nest.alternate.limit
    return bounds


def _step(loops: Sequence[Loop], counters: Sequence[int], bounds: Sequence[int]) -> Iteration:
    begins, completes = [], []
    first = last = True
    for loop, counter, bound in reversed(list(zip(loops, counters, bounds, strict=True))):
        if first:
            begins.append(loop.name)
        first = first and counter == 0
        last = last and counter == bound - 1
        if last:
            completes.append(loop.name)
    values = {loop.name: counter for loop, counter in zip(loops, counters, strict=True)}
    return Iteration(values, tuple(begins), tuple(completes))


class Watch:
    """The watchers of an instruction's loops: which flags an iteration waits for before it begins."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = [watcher for watcher in watchers if watcher.loop is not None]
        self._iterations = [0] * len(self._watchers)

    def gates(self, step: Iteration) -> list[tuple[Flag, int]]:
        """What ``step`` waits for; to be asked once for each, in order."""
        gates = []
        for place, watcher in enumerate(self._watchers):
            if watcher.loop in step.begins:
                gates.append((watcher.flag, watcher.expected + self._iterations[place] * watcher.stride))
                self._iterations[place] += 1
        return gates

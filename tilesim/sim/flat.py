"""A pipe's way, worked out by the compiled :mod:`~tilesim.sim.kernel`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.sim import kernel, told
from tilesim.sim.core.port import NEVER, Change
from tilesim.sim.pipe.course import Activity, ActivitySpans, Costs, Limits, PipeForm, Slot, Totals

Words = NDArray[np.int64]

_WAITS = ("", "flag", "fifo", "port", "hazard", "port")
"""What a stage waits for, by what it does; with extra reads, issues wait for a port."""

_ACTIVITIES = tuple(
    Activity(
        reads in {kernel.GOES, kernel.EXTRA},
        reads == kernel.GOES,
        writes == kernel.GOES,
        _WAITS[reads],
        _WAITS[writes],
        read_access,
        write_access,
    )
    for reads in range(len(_WAITS))
    for writes in range(4)
    for read_access in (False, True)
    for write_access in (False, True)
)

_CHANGES = (Change.NONE, Change.MORE, Change.OTHER)


class Flat:
    """A :class:`~tilesim.sim.pipe.course.Course` as integers in arrays."""

    def __init__(self, cycle: int, costs: Costs, form: PipeForm) -> None:
        self.retold: list[tuple[Slot, Change]] = []
        self._happened: list[int] = []
        self._recorded: list[Words] = []
        self._runs = costs.runs
        self._form = form
        state = [cycle, 0, 0, *self._runs[0, kernel.EXTRA_COST : kernel.APART].tolist()]
        words = [len(costs.issues), form.depth, form.delay, form.read_every, form.write_every, *_slots(form)]
        self._size = kernel.ARRIVALS + min(form.delay, form.depth) + 1
        self._words: Words = np.zeros(kernel.STATES + 2 * self._size, np.int64)
        self._words[: len(words)] = words
        self._words[kernel.STATES : kernel.STATES + len(state)] = state
        self._here = 0
        self._planned = False
        self.cycle = cycle
        self.written = 0

    def advance(self, cycle: int, limits: Limits) -> None:
        recording = self._form.every_span
        if recording or not self._planned or self._ahead(kernel.CYCLE) != cycle:
            spans = self._run(cycle, int(self._words[kernel.GROUPS]), limits, recording)
        self._here = 1 - self._here
        self._planned = False
        at = kernel.STATES + self._here * self._size
        self.cycle, _, self.written = self._words[at : at + kernel.WRITTEN + 1].tolist()
        if recording:
            self._recorded.append(_log.spans[:, :spans].copy())
        else:
            first = kernel.SPENT + 1
            self._happened += self._words[first : first + int(self._words[kernel.SPENT])].tolist()

    def spent(self) -> Totals:
        totals: dict[int, int] = {}
        for code, cycles in zip(self._happened[::2], self._happened[1::2], strict=True):
            totals[code] = totals.pop(code, 0) + cycles
        self._happened = []
        return ((_ACTIVITIES[code], cycles) for code, cycles in totals.items())

    def spans(self) -> ActivitySpans:
        log = np.concatenate([np.zeros((3, 0), np.int64), *self._recorded], axis=1)
        self._recorded = []
        return ActivitySpans(_ACTIVITIES, log[2], log[1] - log[0])

    def forget(self) -> None:
        self._planned = False

    def plan(self, target: int, limits: Limits, publish: Sequence[Slot]) -> int | None:
        spans = self._run(NEVER, target, limits, bool(publish))
        self._planned = True
        if publish:
            self._publish(publish, target, limits, spans)
        return self._ahead(kernel.CYCLE) if self._ahead(kernel.WRITTEN) >= target else None

    def _ahead(self, word: int) -> int:
        return int(self._words[kernel.STATES + (1 - self._here) * self._size + word])

    def _run(self, until: int, target: int, limits: Limits, recording: bool) -> int:
        spans = kernel.run(self._words, self._runs, _log.spans, self._here, until, target, *limits, recording)
        while spans < 0:
            _log.grow()
            spans = kernel.run(self._words, self._runs, _log.spans, self._here, until, target, *limits, recording)
        return spans

    def _publish(self, slots: Sequence[Slot], target: int, limits: Limits, spans: int) -> None:
        every = kernel.go_on(self._words, self._runs, _log.spans, 1 - self._here, spans, *limits)
        while every < 0:
            _log.grow()
            spans = self._run(NEVER, target, limits, recording=True)
            every = kernel.go_on(self._words, self._runs, _log.spans, 1 - self._here, spans, *limits)
        found = [(slot, self._tell(slot, every)) for slot in slots]
        self.retold = [(slot, change) for slot, change in found if change is not Change.NONE]

    def _tell(self, slot: Slot, spans: int) -> Change:
        """Tell the port of ``slot`` the accesses in the log."""
        taken, accesses = slot.port.taken[slot.rank], _log.accesses
        n = told.accesses(_log.spans, spans, slot == self._form.write, accesses)
        change = _CHANGES[told.news(accesses, n, slot.port.places[slot.rank], self.cycle)]
        if change is not Change.NONE:
            taken.retell(self.cycle, array("q", accesses[0, :n].tobytes()), array("q", accesses[1, :n].tobytes()))
        return change


class _Log(local):
    """What kernels write, for all pipes of a thread: the spans of one at a time, and its accesses at one port."""

    def __init__(self) -> None:
        self.spans: NDArray[Any] = np.empty((3, 1 << 12), np.int64)
        self.accesses: NDArray[Any] = np.empty((2, 1 << 12), np.int64)

    def grow(self) -> None:
        room = 4 * self.spans.shape[1]
        self.spans, self.accesses = np.empty((3, room), np.int64), np.empty((2, room), np.int64)


_log = _Log()


def _slots(form: PipeForm) -> list[int]:
    """How many there are, and each."""
    words = [kernel.ISSUE_SLOT + len(form.issue)]
    for slot in (form.write, form.extra, *form.issue):
        if slot is None:
            words += [0, 0, 0, 0]
        else:
            port = slot.port
            words += [port.places.buffer_info()[0], slot.rank, port.capacity, port is form.write.port]
    return words

"""A pipe's way as loops over integers, for numba to compile; :mod:`~tilesim.sim.flat` imports it late.

A pipe is one array of *words*: its form, what its last run spent, and two states, of which one is where the pipe is and
the other where the last run went from there. Its costs are *runs* of equally costly groups. Ports say by addresses
where their clients' accesses lie; nobody moves them during a call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.compiled import compiled
from tilesim.sim.addresses import array_at
from tilesim.sim.core.port import NEVER

Words = NDArray[Any]

GROUPS, DEPTH, DELAY, READ_EVERY, WRITE_EVERY, SLOTS, SLOT = range(7)
"""The form of a pipe. From SLOT on: the slots of its writes, its extra reads, its issues."""

PLACES, RANK, CAPACITY, SHARED, SLOT_WORDS = range(5)
"""A slot: the address of its port's places, whether it is the port of the writes."""

WRITE_SLOT, EXTRA_SLOT, ISSUE_SLOT, SECOND_ISSUE_SLOT, MOST_SLOTS = range(5)

CYCLE, READ, WRITTEN, EXTRAS, ISSUES, WRITES, READ_RUN, WRITE_RUN, WAITING, ARRIVALS = range(10)
"""A state; from ARRIVALS on: when each of the WAITING groups can be written."""

END, EXTRA_COST, ISSUE_COST, WRITE_COST, APART = range(5)
"""A run: the group after its last one, and what each group costs."""

STARTS, ENDS, COUNT, AT, TAKEN, CHANGE, CLIENT_SLOT, CLIENT_WORDS = range(8)
"""A client above: where its accesses lie, the one it makes or makes next, and when that ends or begins."""

GOES, FLAG, FIFO, PORT, HAZARD, EXTRA = range(6)
"""What a stage does or waits for. Reads may also be ``EXTRA`` reads, or wait for a hazard."""

CODES = 6 * 4 * 4
SPENT = SLOT + MOST_SLOTS * SLOT_WORDS
STATES = SPENT + 1 + 2 * CODES
"""An activity's code is ((reads * 4 + writes) * 2 + read access) * 2 + write access."""

PERIOD = 64
"""Steps of a period that is seen to be one; as many more for each group that makes up an access."""


@compiled
def run(
    words: Words,
    runs: Words,
    log: Words,
    here: int,
    until: int,
    target: int,
    limit: int,
    write_limit: int,
    recording: bool,
) -> int:
    """From state ``here`` to the other one: as far as cycle ``until``, ``target`` written groups, or a standstill.

    What was spent on each activity is left in the words; if ``recording``, the spans are in ``log``. How many these
    are, or -1 if there is no room for them.
    """
    size = (len(words) - STATES) // 2
    state = words[STATES + (1 - here) * size : STATES + (2 - here) * size]
    state[:] = words[STATES + here * size : STATES + (here + 1) * size]
    totals = np.zeros((2, CODES), np.int64)
    spans = _run(words, runs, state, totals, log, 0, until, target, limit, write_limit, recording)
    _account(totals, words[SPENT:STATES])
    return spans


@compiled
def go_on(words: Words, runs: Words, log: Words, ahead: int, spans: int, limit: int, write_limit: int) -> int:
    """Log what follows state ``ahead`` too, after so many ``spans``, and leave the words as they are."""
    size = (len(words) - STATES) // 2
    state = words[STATES + ahead * size : STATES + (ahead + 1) * size].copy()
    totals = np.zeros((2, CODES), np.int64)
    return _run(words, runs, state, totals, log, spans, NEVER, words[GROUPS], limit, write_limit, True)


@compiled
def _run(
    form: Words,
    runs: Words,
    state: Words,
    totals: Words,
    log: Words,
    spans: int,
    until: int,
    target: int,
    limit: int,
    write_limit: int,
    recording: bool,
) -> int:
    together = max(form[READ_EVERY], form[WRITE_EVERY])
    clients, left = _clients(form, state[CYCLE]), np.zeros(MOST_SLOTS, np.int64)
    period, steps = np.empty((2, PERIOD * (1 + together)), np.int64), 0
    mark = np.full(len(state), -1, np.int64)
    change = state[CYCLE]
    while state[CYCLE] < until and state[WRITTEN] < target and spans >= 0:
        cycle = state[CYCLE]
        if cycle >= change:
            change = _look(form, clients, left, cycle)
            mark[READ] = -1
        code, cycles = _next(form, runs, state, left, limit, write_limit)
        cycles = min(cycles, change - cycle, until - cycle)
        if cycles >= NEVER - cycle:
            break
        totals[0, code] += cycles
        totals[1, code] = cycle + cycles
        if recording:
            spans = _record(log, spans, code, cycle, cycles)
        if steps < period.shape[1]:
            period[0, steps], period[1, steps] = code, cycles
        steps += 1
        if not _step(form, runs, state, left, code, cycles) or state[READ] & (together - 1):
            continue
        if steps <= period.shape[1] and _same(state, mark):
            each = state[CYCLE] - mark[CYCLE]
            times = _times(runs, state, state[READ] - mark[READ], each, until, change, target, limit, write_limit)
            if times > 0:
                spans = _repeat(period, steps, times, each, state[CYCLE], totals, log, spans, recording)
                _jump(state, state[READ] - mark[READ], each, times)
        mark[:] = state
        steps = 0
    return spans


@compiled
def _clients(form: Words, cycle: int) -> Words:
    """All above the pipe's slots that have any access at or after ``cycle``."""
    ranks = 0
    for slot in range(form[SLOTS]):
        ranks += form[SLOT + slot * SLOT_WORDS + RANK]
    clients, n = np.empty((ranks, CLIENT_WORDS), np.int64), 0
    for slot in range(form[SLOTS]):
        first = SLOT + slot * SLOT_WORDS
        ranks = form[first + RANK]
        places = array_at(form[first + PLACES], ranks)
        for rank in range(ranks):
            place = array_at(places[rank], 3)
            count = place[2]
            if not count:
                continue
            ends = array_at(place[1], count)
            if ends[count - 1] <= cycle:
                continue
            client = clients[n]
            client[STARTS], client[ENDS], client[COUNT] = place[0], place[1], count
            client[AT] = np.searchsorted(ends, cycle, "right")
            client[TAKEN], client[CHANGE] = 0, array_at(place[0], count)[client[AT]]
            client[CLIENT_SLOT] = slot
            n += 1
    return clients[:n]


@compiled
def _look(form: Words, clients: Words, left: Words, cycle: int) -> int:
    """How many accesses those above leave to each slot from ``cycle`` on, and until when that stays so."""
    for slot in range(form[SLOTS]):
        left[slot] = form[SLOT + slot * SLOT_WORDS + CAPACITY]
    until = NEVER
    for k in range(len(clients)):
        client = clients[k]
        while client[CHANGE] <= cycle:
            _pass(client)
        left[client[CLIENT_SLOT]] -= client[TAKEN]
        until = min(until, client[CHANGE])
    for slot in range(form[SLOTS]):
        left[slot] = max(left[slot], 0)
    return until


@compiled
def _pass(client: Words) -> None:
    """An access begins or ends."""
    if client[TAKEN]:
        client[AT] += 1
        client[TAKEN] = 0
        left = client[AT] < client[COUNT]
        client[CHANGE] = array_at(client[STARTS], client[COUNT])[client[AT]] if left else NEVER
    else:
        client[TAKEN] = 1
        client[CHANGE] = array_at(client[ENDS], client[COUNT])[client[AT]]


@compiled
def _next(form: Words, runs: Words, state: Words, left: Words, limit: int, write_limit: int) -> tuple[int, int]:
    """What happens in the present cycle, and for how many cycles it stays like that."""
    read_access = state[READ] & (form[READ_EVERY] - 1) == 0
    write_access = ~state[WRITTEN] & (form[WRITE_EVERY] - 1) == 0
    writes = _holds_writes(state, write_limit)
    if writes == GOES and write_access and not left[WRITE_SLOT]:
        writes = PORT
    cycles = state[WRITES] if writes == GOES else NEVER
    if state[WAITING]:
        cycles = min(cycles, state[ARRIVALS] - state[CYCLE])
    reads = _holds_reads(form, runs, state, limit)
    if reads == GOES:
        claims = writes == GOES and write_access
        extra = left[EXTRA_SLOT] - (claims and form[SLOT + EXTRA_SLOT * SLOT_WORDS + SHARED])
        reads, most = _reads(form, state, left, extra, claims, read_access)
        cycles = min(cycles, most)
    return ((reads * 4 + writes) * 2 + read_access) * 2 + write_access, cycles


@compiled
def _reads(form: Words, state: Words, left: Words, extra: int, claims: bool, access: bool) -> tuple[int, int]:
    """What reads do that nothing but ports may hold, and for how many cycles at most."""
    extras = state[EXTRAS]
    if extras >= extra > 0:
        return EXTRA, extras // extra
    if (extra > 0 or not extras) and (not access or _may_issue(form, left, claims)):
        return GOES, state[ISSUES]
    return (EXTRA, 1) if extras and extra > 0 else (PORT, NEVER)


@compiled
def _may_issue(form: Words, left: Words, claims: bool) -> bool:
    for slot in range(ISSUE_SLOT, form[SLOTS]):
        if left[slot] <= (claims and form[SLOT + slot * SLOT_WORDS + SHARED]):
            return False
    return True


@compiled
def _holds_reads(form: Words, runs: Words, state: Words, limit: int) -> int:
    read = state[READ]
    if limit <= read < form[GROUPS]:
        return FLAG
    unwritten = read - state[WRITTEN]
    if read == form[GROUPS] or unwritten >= form[DEPTH]:
        return FIFO
    return HAZARD if unwritten >= runs[state[READ_RUN], APART] else GOES


@compiled
def _holds_writes(state: Words, limit: int) -> int:
    if state[WRITTEN] >= limit:
        return FLAG
    return GOES if state[WRITTEN] < state[READ] - state[WAITING] else FIFO


@compiled
def _step(form: Words, runs: Words, state: Words, left: Words, code: int, cycles: int) -> bool:
    """Carry ``cycles`` cycles of an activity out; True when a group has been read."""
    reads, writes, write_access = code >> 4, (code >> 2) & 3, code & 1
    state[CYCLE] += cycles
    if writes == GOES:
        state[WRITES] -= cycles
        if not state[WRITES]:
            _written(form, runs, state)
    done = False
    if reads == GOES:
        state[EXTRAS] = 0
        state[ISSUES] -= cycles
        done = not state[ISSUES]
    elif reads == EXTRA:
        claims = writes == GOES and write_access
        extra = left[EXTRA_SLOT] - (claims and form[SLOT + EXTRA_SLOT * SLOT_WORDS + SHARED])
        state[EXTRAS] -= min(state[EXTRAS], cycles * extra)
    if done:
        _queue(form, runs, state)
    if state[WAITING] and state[ARRIVALS] == state[CYCLE]:
        state[WAITING] -= 1
        for k in range(state[WAITING]):
            state[ARRIVALS + k] = state[ARRIVALS + k + 1]
    return done


@compiled
def _written(form: Words, runs: Words, state: Words) -> None:
    state[WRITTEN] += 1
    if state[WRITTEN] < form[GROUPS]:
        state[WRITE_RUN] += state[WRITTEN] == runs[state[WRITE_RUN], END]
        state[WRITES] = runs[state[WRITE_RUN], WRITE_COST]


@compiled
def _queue(form: Words, runs: Words, state: Words) -> None:
    """A group has been read."""
    state[READ] += 1
    if form[DELAY]:
        state[ARRIVALS + state[WAITING]] = state[CYCLE] + form[DELAY]
        state[WAITING] += 1
    if state[READ] < form[GROUPS]:
        state[READ_RUN] += state[READ] == runs[state[READ_RUN], END]
        state[EXTRAS] = runs[state[READ_RUN], EXTRA_COST]
        state[ISSUES] = runs[state[READ_RUN], ISSUE_COST]


@compiled
def _same(state: Words, mark: Words) -> bool:
    """Whether everything is as it was at ``mark``, some groups later."""
    if mark[READ] < 0 or state[READ] - state[WRITTEN] != mark[READ] - mark[WRITTEN]:
        return False
    for k in (EXTRAS, ISSUES, WRITES, WAITING):
        if state[k] != mark[k]:
            return False
    later, same = state[CYCLE] - mark[CYCLE], True
    for k in range(ARRIVALS, ARRIVALS + state[WAITING]):
        same &= state[k] - mark[k] == later
    return same


@compiled
def _times(
    runs: Words,
    state: Words,
    groups: int,
    cycles: int,
    until: int,
    change: int,
    target: int,
    limit: int,
    write_limit: int,
) -> int:
    """How often a period of so many ``groups`` and ``cycles`` comes again."""
    run, written = state[WRITE_RUN], state[WRITTEN]
    begin = runs[run - 1, END] if run else 0
    if written >= runs[run, END] or written - groups < begin:
        return 0
    reads = min(runs[run, END], limit) - 1 - state[READ]
    writes = min(target, write_limit) - 1 - written
    times: int = min(min(reads, writes) // groups, (min(change, until) - state[CYCLE]) // cycles)
    return times


@compiled
def _jump(state: Words, groups: int, cycles: int, times: int) -> None:
    state[CYCLE] += cycles * times
    state[READ] += groups * times
    state[WRITTEN] += groups * times
    for k in range(state[WAITING]):
        state[ARRIVALS + k] += cycles * times


@compiled
def _repeat(
    period: Words,
    steps: int,
    times: int,
    each: int,
    start: int,
    totals: Words,
    log: Words,
    spans: int,
    recording: bool,
) -> int:
    """Account for a period of so many ``steps``, ``times`` times from ``start`` on."""
    at = start + each * (times - 1)
    for k in range(steps):
        at += period[1, k]
        totals[0, period[0, k]] += period[1, k] * times
        totals[1, period[0, k]] = at
    if recording:
        at = start
        for _ in range(times):
            for k in range(steps):
                spans = _record(log, spans, period[0, k], at, period[1, k])
                at += period[1, k]
    return spans


@compiled
def _record(log: Words, spans: int, code: int, cycle: int, cycles: int) -> int:
    """Log a span; one that goes on is one. -1 if there is no room, or was none."""
    if spans > 0 and log[2, spans - 1] == code and log[1, spans - 1] == cycle:
        log[1, spans - 1] += cycles
        return spans
    if spans < 0 or spans == log.shape[1]:
        return -1
    log[0, spans], log[1, spans], log[2, spans] = cycle, cycle + cycles, code
    return spans + 1


@compiled
def _account(totals: Words, spent: Words) -> None:
    """Cycles of each activity, that first which ends first: the number of words, then codes and cycles in turn."""
    n = 0
    for code in range(CODES):
        if totals[0, code]:
            k = n
            while k and totals[1, spent[2 * k - 1]] > totals[1, code]:
                spent[2 * k + 1], spent[2 * k + 2] = spent[2 * k - 1], spent[2 * k]
                k -= 1
            spent[2 * k + 1], spent[2 * k + 2] = code, totals[0, code]
            n += 1
    spent[0] = 2 * n

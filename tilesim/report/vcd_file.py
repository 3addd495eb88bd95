"""A state log as a Value Change Dump (IEEE 1364), with texts as the strings that GTKWave knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import IO

import numpy as np

from tilesim.report.rates import spans_of
from tilesim.report.slices import STALL
from tilesim.sim.trace.signals import NONE, NUMBERS, Signals
from tilesim.sim.trace.state_log import StateLog
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

STATE = "state"
NO_TEXT = "-"
"""The value of a string that is none."""
FIRST_CODE, LAST_CODE = 33, 126
"""Characters of which the codes of variables are made."""
UNITS = tuple(f"{size} {unit}" for unit in ("ns", "ps", "fs") for size in (100, 10, 1))
TOGETHER = 8192
"""Changes between two words of how far it is."""


def write_vcd(
    statistics: RunStatistics, signals: Signals, trace: Trace | None, file: IO[bytes], say: Callable[[int], None]
) -> int:
    """Write all ``signals`` of a run into ``file``; ``say`` hears how many values have been written. How many there
    are.

    Parts of names are modules; a text is a variable of its own in the module that it is of, called after its kind. With
    a ``trace`` units also have a ``state``: busy, or for what they wait. The variable ``cycle`` has the cycle of the
    run in each of the window. Time is that of the chip's clock, from the beginning of the run, in the largest unit in
    which a cycle is a whole number, else in femtoseconds.
    """
    signals = signals if trace is None else _with_states(signals, trace)
    unit, ticks = _timescale(statistics["clock_hz"])
    file.write("".join(f"{line}\n" for line in _head(signals, unit)).encode())
    bounds = np.searchsorted(signals.cycle, np.arange(signals.window.start, signals.window.stop + 1)).tolist()
    for cycle, (first, end) in zip(signals.window, pairwise(bounds), strict=True):
        changes = zip(signals.signal[first:end].tolist(), signals.value[first:end].tolist(), strict=True)
        lines = [f"#{ticks(cycle)}", f"b{cycle:b} {_code(len(signals.names))}"]
        lines += [_change(signals, place, value) for place, value in changes]
        file.write("".join(f"{line}\n" for line in lines).encode())
        if first // TOGETHER < end // TOGETHER:
            say(end)
    file.write(f"#{ticks(signals.window.stop)}\n".encode())
    return len(signals.cycle)


def _with_states(signals: Signals, trace: Trace) -> Signals:
    """The signals, and what the units among them do."""
    log, known = StateLog(signals.window), set(signals.names)
    states = {track: log.signal(name, STATE) for track, name in enumerate(trace.tracks) if name in known}
    log.begin(trace.start)
    for track, state in states.items():
        spans = spans_of(trace, track)
        columns = (trace.start_cycle[spans], trace.cycles[spans], trace.kind[spans])
        for start, cycles, kind in zip(*(column.tolist() for column in columns), strict=True):
            state.set(start, log.number(trace.kinds[kind].removeprefix(STALL)))
            state.set(start + cycles, NONE)
    return _joined(signals, log.signals(signals.window.stop))


def _joined(signals: Signals, others: Signals) -> Signals:
    """Both, of one window; all values of the ``others`` are texts."""
    place = np.concatenate([signals.signal, others.signal + len(signals.names)])
    value = np.concatenate([signals.value, np.where(others.value < 0, NONE, others.value + len(signals.texts))])
    cycle = np.concatenate([signals.cycle, others.cycle])
    order = np.lexsort((place, cycle))
    return Signals(
        (*signals.names, *others.names),
        (*signals.kinds, *others.kinds),
        (*signals.texts, *others.texts),
        signals.window,
        place[order].astype(np.int32),
        cycle[order],
        value[order],
    )


def _timescale(clock_hz: int) -> tuple[str, Callable[[int], int]]:
    """The unit of time, and how many of it have gone by when a cycle begins."""
    per_second = [10 ** (7 + place) for place in range(len(UNITS))]
    place = next((k for k, count in enumerate(per_second) if count % clock_hz == 0), len(UNITS) - 1)
    return UNITS[place], lambda cycle: cycle * per_second[place] // clock_hz


def _head(signals: Signals, unit: str) -> Iterator[str]:
    yield "$version tilesim $end"
    yield f"$timescale {unit} $end"
    paths = [_path(name, kind) for name, kind in zip(signals.names, signals.kinds, strict=True)]
    within: tuple[str, ...] = ()
    for path, code, kind in [*sorted(zip(paths, map(_code, range(len(paths))), signals.kinds, strict=True))]:
        yield from _scopes(within, path[:-1])
        within = path[:-1]
        yield f"$var {'integer 64' if kind in NUMBERS else 'string 1'} {code} {path[-1]} $end"
    yield from _scopes(within, ())
    yield f"$var integer 64 {_code(len(paths))} cycle $end"
    yield "$enddefinitions $end"


def _path(name: str, kind: str) -> tuple[str, ...]:
    """The modules of a variable, and its name there."""
    return *(_word(part) for part in name.split(".")), *(() if kind in NUMBERS else (kind,))


def _scopes(within: tuple[str, ...], wanted: tuple[str, ...]) -> Iterator[str]:
    """From one module to another."""
    shared = next(
        (k for k, (a, b) in enumerate(zip(within, wanted, strict=False)) if a != b), min(len(within), len(wanted))
    )
    yield from ["$upscope $end"] * (len(within) - shared)
    yield from (f"$scope module {name} $end" for name in wanted[shared:])


def _code(number: int) -> str:
    """The short name of variable ``number``."""
    count = LAST_CODE + 1 - FIRST_CODE
    return (_code(number // count - 1) if number >= count else "") + chr(FIRST_CODE + number % count)


def _change(signals: Signals, place: int, value: int) -> str:
    if signals.kinds[place] in NUMBERS:
        return f"b{value:b} {_code(place)}"
    return f"s{_word(signals.text(place, value)) or NO_TEXT} {_code(place)}"


def _word(text: str) -> str:
    """A text without spaces, and what else the format has no place for, as escapes of C."""
    return "".join(one if one.isascii() and one.isprintable() and one not in " \\" else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in one.encode())

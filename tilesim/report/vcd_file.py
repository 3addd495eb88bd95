"""A state log as a Value Change Dump (IEEE 1364), with texts as the strings that GTKWave knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import IO

from tilesim.sim.trace.signals import NUMBERS, Signals
from tilesim.statistics import RunStatistics

NO_TEXT = "-"
"""The value of a string that is none."""
FIRST_CODE, LAST_CODE = 33, 126
"""Characters of which the codes of variables are made."""
UNITS = tuple(f"{size} {unit}" for unit in ("ns", "ps", "fs") for size in (100, 10, 1))
TOGETHER = 8192
"""Changes between two words of how far it is."""


def write_vcd(statistics: RunStatistics, signals: Signals, file: IO[bytes], say: Callable[[int], None]) -> None:
    """Write all ``signals`` of a run into ``file``; ``say`` hears how many changes have been written.

    Parts of names are modules; a text is a variable of its own in the module that it is of, called after its kind. The
    variable ``cycle`` has the cycle of the run in each of the window. Time is that of the chip's clock, from the
    beginning of the run, in the largest unit in which a cycle is a whole number, else in femtoseconds.
    """
    unit, ticks = _timescale(statistics["clock_hz"])
    file.write("".join(f"{line}\n" for line in _head(signals, unit)).encode())
    changes = zip(signals.signal.tolist(), signals.cycle.tolist(), signals.value.tolist(), strict=True)
    by_cycle = {cycle: list(some) for cycle, some in groupby(changes, key=lambda change: change[1])}
    written = 0
    for cycle in signals.window:
        lines = [f"#{ticks(cycle)}", f"b{cycle:b} {_code(len(signals.names))}"]
        lines += [_change(signals, place, value) for place, _, value in by_cycle.get(cycle, ())]
        file.write("".join(f"{line}\n" for line in lines).encode())
        if written // TOGETHER < (written := written + len(lines)) // TOGETHER:
            say(written)
    file.write(f"#{ticks(signals.window.stop)}\n".encode())


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

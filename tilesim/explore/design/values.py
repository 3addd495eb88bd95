"""The values of an axis, as ``--vary KEY=VALUES`` spells them: lists, ranges, powers, grids, and words of options."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tilesim.batching import SCHEDULES
from tilesim.budgets import MOST_AXIS_VALUES, MOST_RUN_INFERENCES
from tilesim.errors import InputError, kept, refuse
from tilesim.explore.point import Value, spelt
from tilesim.machines.policies import CHOICES
from tilesim.printable import short, shown, unknown

GRID = "grid"
FASTEST = "fastest"
"""The schedule that is whichever takes fewest cycles; options of points have no word for it."""
SWITCH = {"on": True, "true": True, "off": False, "false": False}
SERIES = {"squares": "from 1..8: 1x1, 2x2 to 8x8", "doublings": "from 1..64: 1x1, 1x2, 2x2, 2x4 to 8x8"}
MOST_BITS = 62
"""Of a power."""

_WHOLE = re.compile(r"[0-9]{1,18}")
_POWER = re.compile(r"([0-9]{1,4})\^([0-9]{1,2})")
_RANGE = re.compile(r"([^/]*?)\.\.([^/]*)(?:/(.*))?", re.DOTALL)
_SIZE = re.compile(r"([0-9]{1,4})x([0-9]{1,4})")


def values_of(key: str, given: Value | Sequence[Value]) -> tuple[Value, ...]:
    """The values that the text after ``KEY=`` stands for, or a list of such texts and of values; in their order.

    Raises:
        InputError: faults in them, all at once; a value that is there twice is one.
    """
    items = _items(given)
    values: list[Value] = []
    faults: list[str] = []
    for item in items:
        with kept(faults):
            values += _values(key, item.strip() if isinstance(item, str) else item)
    if not items:
        faults.append("must have a value, not none")
    counts = Counter((type(value), value) for value in values)
    faults += [
        f"{spelt(value)} must be given once, not {count} times" for (_, value), count in counts.items() if count > 1
    ]
    refuse(f"vary {short(key)}: {fault}" for fault in faults)
    return tuple(values)


def _items(given: Value | Sequence[Value]) -> Sequence[Value]:
    if isinstance(given, str):
        return given.split(",")
    return [given] if isinstance(given, bool | int | float) else given


def _values(key: str, item: Value) -> Sequence[Value]:
    """What one item of the list stands for."""
    if isinstance(item, str):
        if not item:
            raise InputError("must have a value between commas, not nothing")
        return READERS.get(key, _expanded)(item)
    return READERS[key](spelt(item)) if key in READERS else [item]


def _expanded(item: str) -> Sequence[Value]:
    """A range, a power, a whole number; any other text is left to the chip, which knows sizes and words."""
    if ".." in item:
        return _range(item)
    number = _number(item)
    return [item if number is None else number]


def _range(item: str) -> Sequence[int]:
    """``1..8``, ``8..64/8``, and ``2^4..2^8``, which doubles."""
    begin, end, step = _limits(item)
    powers = [_POWER.fullmatch(word) for word in item.split("..")]
    first, last = powers if len(powers) == 2 else (None, None)
    if first and last and first[1] == last[1]:
        return [int(first[1]) ** exponent for exponent in range(int(first[2]), int(last[2]) + 1)]
    return _bounded(range(begin, end + 1, step))


def _limits(item: str) -> tuple[int, int, int]:
    """Where a range begins, where it ends, and its step."""
    match = _RANGE.fullmatch(item)
    numbers = [_number("1" if word is None else word) for word in match.groups()] if match else []
    begin, end, step = numbers or (None, None, None)
    if begin is None or end is None or step is None:
        raise InputError(f"a range must be of whole numbers, such as 1..8, 8..64/8 or 2^4..2^8, not {shown(item)}")
    if begin > end:
        raise InputError(f"a range must not begin after its end, as {shown(item)} does")
    if step < 1:
        raise InputError(f"the step of a range must be at least 1, not {step}, in {shown(item)}")
    return begin, end, step


def _bounded(values: range) -> range:
    if len(values) > MOST_AXIS_VALUES:
        raise InputError(f"a range must have at most {MOST_AXIS_VALUES:,} values, not {len(values):,}")
    return values


def _number(word: str) -> int | None:
    """A whole number, or a power such as ``2^4``."""
    if _WHOLE.fullmatch(word):
        return int(word)
    power = _POWER.fullmatch(word)
    if power is None:
        return None
    base, exponent = int(power[1]), int(power[2])
    if base.bit_length() * exponent > 2 * MOST_BITS or (number := base**exponent).bit_length() > MOST_BITS:
        raise InputError(f"a power must have at most {MOST_BITS} bits, unlike {word}")
    return int(number)


def _grids(item: str) -> Sequence[str]:
    """``2x4``, ``squares:1..8`` or ``doublings:1..64``."""
    name, colon, numbers = item.partition(":")
    if colon:
        if name not in SERIES:
            raise InputError(f"a series of grids {unknown(name, SERIES)}")
        return _squares(numbers) if name == "squares" else _doublings(numbers)
    size = _SIZE.fullmatch(item)
    if size is None or 0 in (rows_columns := (int(size[1]), int(size[2]))):
        raise InputError(
            f"a grid must be ROWSxCOLUMNS, such as 2x4, or a series such as squares:1..8, not {shown(item)}"
        )
    return ["{}x{}".format(*rows_columns)]


def _squares(numbers: str) -> Sequence[str]:
    sides = _range(_as_range("squares", numbers))
    return [f"{side}x{side}" for side in sides]


def _doublings(numbers: str) -> Sequence[str]:
    """Twice as many tiles each time, as nearly square as they can be, wider than high."""
    first, last, _ = _limits(_as_range("doublings", numbers))
    for end in (first, last):
        if end & (end - 1):
            raise InputError(f"the ends of doublings must be powers of two, such as 1..64, not {end}")
    tiles = [(k // 2, k - k // 2) for k in range(first.bit_length() - 1, last.bit_length())]
    return [f"{1 << rows}x{1 << columns}" for rows, columns in tiles]


def _as_range(series: str, numbers: str) -> str:
    """What stands after ``squares:``, from 1; one number is a range of itself."""
    text = numbers if ".." in numbers else f"{numbers}..{numbers}"
    if not numbers or _limits(text)[0] < 1:
        raise InputError(f"{series} must go {SERIES[series]}, not {shown(numbers)}")
    return text


def _choice(choices: Sequence[str], item: str) -> Sequence[str]:
    if item not in choices:
        raise InputError(unknown(item, choices))
    return [item]


def _schedules(item: str) -> Sequence[str]:
    return [""] if item == FASTEST else _choice([*SCHEDULES, FASTEST], item)


def _switch(item: str) -> Sequence[bool]:
    if item not in SWITCH:
        raise InputError(unknown(item, ["on", "off"]))
    return [SWITCH[item]]


def _inferences(item: str) -> Sequence[Value]:
    values = _expanded(item)
    for value in values:
        if not (isinstance(value, int) and 1 <= value <= MOST_RUN_INFERENCES):
            raise InputError(f"must be whole numbers from 1 to {MOST_RUN_INFERENCES:,}, not {shown(str(value))}")
    return values


def spelt_values(key: str, values: Sequence[Value]) -> Iterator[str]:
    """The values as :func:`values_of` reads them."""
    for value in values:
        if key == "cache":
            yield "on" if value else "off"
        else:
            yield FASTEST if key == "schedule" and not value else spelt(value)


READERS: Mapping[str, Callable[[str], Sequence[Value]]] = {
    GRID: _grids,
    "partition": partial(_choice, CHOICES),
    "cache": _switch,
    "inferences": _inferences,
    "schedule": _schedules,
}
"""What reads an item of each axis that is no key of the chip."""

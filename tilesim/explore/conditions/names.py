"""What expressions, axes and objectives may name: keys of chips, options, and measures of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields
from difflib import get_close_matches
from functools import cache
from typing import get_origin, get_type_hints

from tilesim.explore.point import PointOptions, Value
from tilesim.explore.row import Measures
from tilesim.machines.description import Description
from tilesim.printable import shown, unknown
from tilesim.registry import description_of

OPTIONS = tuple(field.name for field in fields(PointOptions))
AREA = "area_mm2"
"""All parts of a chip's area together; a part of it follows after a dot."""
MEASURES = (*(name for name, kind in get_type_hints(Measures).items() if get_origin(kind) not in {dict, list}), AREA)
"""What is one value of a run; what the chip takes is known before, and counts as one."""
GROUPS = (*(name for name, kind in get_type_hints(Measures).items() if get_origin(kind) is dict), AREA)
"""What is one value of each of several things, which follow after a dot: ``bytes.ring``."""
TEXTS = ("bound_by", "outputs_sha256")
"""Measures that are no numbers."""
DESCRIPTIONS = ("network", "topology")
"""What else a row says of its point."""


NAME = "NAME"
"""Stands for all that a group may have, where that is not known."""


def measures_of(machines: Iterable[str] = ()) -> tuple[str, ...]:
    """What runs on these machines may be asked for: ``cycles``, ``bytes.ring``; ``bytes.NAME`` where a machine does not
    say what it has, or none is named.
    """
    parts = [_parts_of(machine) for machine in machines] or [{}]
    grouped = (f"{group}.{as_name(part)}" for group in GROUPS for each in parts for part in each.get(group) or (NAME,))
    return tuple(dict.fromkeys((*MEASURES, *grouped)))


def _parts_of(machine: str) -> Mapping[str, Collection[str]]:
    """What each group has on a machine, as far as it says so."""
    told = description_of(machine)
    if told == Description():
        return {}
    return {
        "breakdown": told.causes,
        "bytes": told.buses,
        "peak_bytes": told.memories,
        AREA: [part.words for part in told.area],
    }


@cache
def as_name(words: str) -> str:
    """As expressions spell it: ``breakdown.no_work``."""
    return re.sub(r"[^\w.]+", "_", words, flags=re.ASCII)


EVERY = measures_of()
"""What rows may be asked for, whatever their machines have."""


def is_measure(name: str, measures: Collection[str] = EVERY) -> bool:
    """Whether it is known only of a row, which may be asked for the ``measures``."""
    group, _, part = name.partition(".")
    return name in measures or (bool(part) and f"{group}.{NAME}" in measures)


def samples(keys: Mapping[str, Value], names: Iterable[str], measures: Collection[str] = EVERY) -> dict[str, Value]:
    """Values such as those of ``names`` that mean something may have, to try an expression with; the chips have
    ``keys``, their runs ``measures``. No two numbers are the same.
    """
    known = {
        **dict.fromkeys((measure for measure in measures if not measure.endswith(f".{NAME}")), 1.0),
        **dict.fromkeys((*TEXTS, *DESCRIPTIONS), ""),
        **asdict(PointOptions()),
        **keys,
    }
    known |= {name: 1.0 for name in names if name not in known and is_measure(name, measures)}
    return {
        name: value if isinstance(value, bool | str) else 1 + place / 64
        for place, (name, value) in enumerate(known.items())
    }


def unmeasured(name: str, measures: Collection[str] = EVERY) -> str:
    """Why a name can't be what a sweep whose runs have ``measures`` is to minimise or maximise; nothing if it can."""
    numbers = [measure for measure in measures if measure not in TEXTS]
    if is_measure(name, numbers):
        return ""
    short = [*(each for each in numbers if "." not in each), *(f"{group}.{NAME}" for group in GROUPS)]
    return strange(name, numbers, "a measure that is a number", short)


def strange(name: str, known: Collection[str], what: str, short: Collection[str] = ()) -> str:
    """The sentence for a name that is none of those ``known``: which of its group it may mean, or what that has, if
    there is such a group; else which of all, or what there is, in ``short`` if that is given.
    """
    group, _, part = name.partition(".")
    if own := {each.partition(".")[2]: each for each in sorted(known) if part and each.startswith(f"{group}.")}:
        close = get_close_matches(part, own, 1)
        advice = f"; did you mean {own[close[0]]!r}?" if close else f" (one of {', '.join(own.values())})"
        return f"must be {what}, not {shown(name)}{advice}"
    sentence = unknown(name, known, what)
    return sentence if not short or sentence.endswith("?") else unknown(name, short, what)

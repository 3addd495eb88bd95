"""What expressions, axes and objectives may name: keys of chips, options, and measures of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import get_origin, get_type_hints

from tilesim.explore.point import PointOptions, Value
from tilesim.explore.row import Measures
from tilesim.printable import unknown

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


def is_measure(name: str) -> bool:
    """Whether it is known only of a row."""
    return name in MEASURES or name.partition(".")[0] in GROUPS


def samples(keys: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """Values such as those of ``names`` that mean something may have, to try an expression with; the chips have
    ``keys``. No two numbers are the same.
    """
    known = {
        **dict.fromkeys(MEASURES, 1.0),
        **dict.fromkeys((*TEXTS, *DESCRIPTIONS), ""),
        **asdict(PointOptions()),
        **keys,
    }
    known |= {name: 1.0 for name in names if name not in known and is_measure(name)}
    return {
        name: value if isinstance(value, bool | str) else 1 + place / 64
        for place, (name, value) in enumerate(known.items())
    }


def unmeasured(name: str) -> str:
    """Why a name can't be what a sweep is to minimise or maximise; nothing where it can."""
    numbers = [measure for measure in MEASURES if measure not in TEXTS]
    group, dot, _ = name.partition(".")
    if name in numbers or (dot and group in GROUPS):
        return ""
    return unknown(name, (*numbers, *(f"{group}.NAME" for group in GROUPS)), "a measure that is a number")

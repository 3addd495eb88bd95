"""What expressions, axes and objectives may name: keys of chips, options, and measures of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import get_origin, get_type_hints

from tilesim.explore.point import Options
from tilesim.explore.row import Measures
from tilesim.printable import unknown

OPTIONS = tuple(field.name for field in fields(Options))
AREA = "area_mm2"
"""All parts of a chip's area together."""
MEASURES = (*(name for name, kind in get_type_hints(Measures).items() if get_origin(kind) not in {dict, list}), AREA)
"""What is one value of a run; what the chip takes is known before, and counts as one."""
GROUPS = (*(name for name, kind in get_type_hints(Measures).items() if get_origin(kind) is dict), "area")
"""What is one value of each of several things, which follow after a dot: ``bytes.ring``."""
TEXTS = ("bound_by", "outputs_sha256")
"""Measures that are no numbers."""
DESCRIPTIONS = ("network", "topology")
"""What else a row says of its point."""


def is_measure(name: str) -> bool:
    """Whether it is known only of a row."""
    return name in MEASURES or name.partition(".")[0] in GROUPS


def strange(names: Iterable[str], keys: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Those of ``names`` that are no keys, options or measures, each with what there is."""
    known = frozenset((*keys, *OPTIONS, *MEASURES, *DESCRIPTIONS))
    yield from ((name, known) for name in sorted(set(names) - known) if not is_measure(name))


def unmeasured(name: str) -> str:
    """Why a name can't be what a sweep is to minimise or maximise; nothing where it can."""
    numbers = [measure for measure in MEASURES if measure not in TEXTS]
    group, dot, _ = name.partition(".")
    if name in numbers or (dot and group in GROUPS):
        return ""
    return unknown(name, (*numbers, *(f"{group}.NAME" for group in GROUPS)), "a measure that is a number")

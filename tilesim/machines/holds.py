"""Delayed issue: instructions that the user lets begin later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsIndex, TypeAlias

from tilesim.errors import refuse
from tilesim.machines.program import Instruction, Program
from tilesim.printable import kind_of, shown, unknown

Holds: TypeAlias = Mapping[tuple[str, int | None], int]
"""Cycles, counted from the start of a section, before which an instruction must not begin: by label and tile (None:
wherever the instruction goes).
"""
NO_HOLDS: Holds = {}
LATEST = 1 << 40
"""The last cycle up to which an instruction may be held."""
MOST_GUESSES = 3


def holds(program: Program, given: Mapping[str, int], tiles_of: Callable[[Any], int | None]) -> Holds:
    """The holds that the user has ``given`` by label, or by label, ``@`` and a tile's number.

    ``tiles_of`` says to which tiles an instruction goes, as a bitmap; None if no unit takes it up.

    Raises:
        InputError: no such instruction, one that no unit begins, another tile, or no cycle; all at once.
    """
    refuse(_no_cycles(given))
    if not given:
        return NO_HOLDS
    labelled = {op.label: op for op in (*program.load, *program.run) if op.label}
    resolved = {key: _resolved(key, labelled) for key in given}
    refuse(
        fault if label not in labelled else f"hold {shown(key)}: {fault}"
        for key, (label, tile) in resolved.items()
        for fault in _faults(label, tile, given[key], labelled, tiles_of)
    )
    return {(label, None if tile is None else int(tile)): given[key] for key, (label, tile) in resolved.items()}


def _no_cycles(given: object) -> Iterator[str]:
    """What keeps ``given``, which a script may have made, from being cycles by label."""
    if not isinstance(given, Mapping):
        yield f"holds must be a mapping from labels to cycles, not {kind_of(given)}"
        return
    for key, cycle in given.items():
        if not isinstance(key, str):
            yield f"holds must name instructions by their labels, not by {kind_of(key)}"
        elif not isinstance(cycle, SupportsIndex):
            yield f"hold {shown(key)}: must be up to a cycle, a whole number, not {kind_of(cycle)}"


def _resolved(key: str, labelled: Mapping[str, Instruction]) -> tuple[str, str | None]:
    """Label and tile; a label may hold an ``@`` itself."""
    label, at, tile = key.rpartition("@")
    return (label, tile) if at and key not in labelled else (key, None)


def _faults(
    label: str,
    tile: str | None,
    cycle: int,
    labelled: Mapping[str, Instruction],
    tiles_of: Callable[[Any], int | None],
) -> Iterator[str]:
    op = labelled.get(label)
    if op is None:
        yield _unknown(label, labelled)
    elif (tiles := tiles_of(op)) is None:
        yield f"must be an instruction that a unit takes up, not a {op.mnemonic}"
    elif tile is not None:
        yield from _tile_faults(label, tile, tiles)
    if op is not None and not 0 <= cycle <= LATEST:
        yield f"must be up to a cycle from 0 to {LATEST}, not {cycle}"


def _unknown(label: str, labelled: Mapping[str, Instruction]) -> str:
    """Labels that hold the whole word are nearer than those of like letters."""
    what = "the label of an instruction"
    if longer := [known for known in labelled if label in known][:MOST_GUESSES]:
        return f"hold must be {what}, not {shown(label)}; did you mean {' or '.join(map(shown, longer))}?"
    return f"hold {unknown(label, labelled, what)}"


def _tile_faults(label: str, tile: str, bitmap: int) -> Iterator[str]:
    tiles = [str(k) for k in range(bitmap.bit_length()) if bitmap >> k & 1]
    if not tiles:
        yield f"must name no tile: {label} goes to none"
    elif tile not in tiles:
        yield f"must name a tile that {label} goes to ({', '.join(tiles)}), not {shown(tile)}"

"""Start times that the user gives instructions: which ones there are, and when they begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesim.errors import InputError
from tilesim.printable import shown, unknown
from tilesim.tiled.isa.model.instructions import Broadcast, Instruction, ScalarFence, TileFence
from tilesim.tiled.isa.model.program import Program

LATEST = 1 << 40
"""The last cycle up to which an instruction may be held."""
MOST_GUESSES = 3


def holds(program: Program, not_before: Mapping[str, int]) -> dict[tuple[str, int | None], int]:
    """The cycles of ``not_before``, by label and tile (None: wherever the instruction goes).

    Its keys are labels, or labels with ``@`` and a tile's number.

    Raises:
        InputError: no such instruction, one that no unit begins, another tile, or no cycle; all at once.
    """
    if not not_before:
        return {}
    labelled = {op.label: op for op in (*program.load, *program.run) if op.label}
    found = {key: _resolved(key, labelled) for key in not_before}
    if faults := [
        f"hold {shown(key)}: {fault}"
        for key, (label, tile) in found.items()
        for fault in _faults(label, tile, not_before[key], labelled)
    ]:
        raise InputError(faults)
    return {(label, None if tile is None else int(tile)): not_before[key] for key, (label, tile) in found.items()}


def _resolved(key: str, labelled: Mapping[str, Instruction]) -> tuple[str, str | None]:
    """Label and tile; a label may hold an ``@`` itself."""
    label, at, tile = key.rpartition("@")
    return (label, tile) if at and key not in labelled else (key, None)


def _faults(label: str, tile: str | None, cycle: int, labelled: Mapping[str, Instruction]) -> Iterator[str]:
    op = labelled.get(label)
    if op is None:
        yield _unknown(label, labelled)
    elif isinstance(op, TileFence | ScalarFence | Broadcast):
        yield f"must be an instruction that a unit takes up, not a {op.mnemonic}"
    elif tile is not None:
        yield from _tile_faults(label, tile, getattr(op, "tiles", 0))
    if not 0 <= cycle <= LATEST:
        yield f"must be up to a cycle from 0 to {LATEST}, not {cycle}"


def _unknown(label: str, labelled: Mapping[str, Instruction]) -> str:
    """Labels that hold the whole word are nearer than those of like letters."""
    what = "the label of an instruction"
    if longer := [each for each in labelled if label in each][:MOST_GUESSES]:
        return f"must be {what}, not {shown(label)}; did you mean {' or '.join(map(shown, longer))}?"
    return unknown(label, labelled, what)


def _tile_faults(label: str, tile: str, bitmap: int) -> Iterator[str]:
    tiles = [str(k) for k in range(bitmap.bit_length()) if bitmap >> k & 1]
    if not tiles:
        yield f"must name no tile: {label} goes to none"
    elif tile not in tiles:
        yield f"must name a tile that {label} goes to ({', '.join(tiles)}), not {shown(tile)}"

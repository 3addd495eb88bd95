"""What instructions whose accesses nothing orders do to each other's bytes in a run.

Their order in the program is the one that is meant. Whether a byte is touched in it, and what its value is if not, only
accesses cycle by cycle tell; so the run is made on the stepped model as well, which takes the same cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.findings import Finding
from tilesim.machines.holds import Holds
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.hazards import Unordered, unordered
from tilesim.tiled.stepped import Touch

Array = NDArray[Any]
Touches = Mapping[tuple[int, str], Sequence[Touch]]
Cycles = NDArray[np.int64]

TOUCHED = "touched"
"""The kind of finding."""
FAR = 1 << 62


def races(program: Program) -> list[Unordered]:
    """The pairs of a program that may touch the same bytes in either order."""
    return program.once(unordered)


def raced(program: Program, inputs: Sequence[Array], samples: int, held: Holds) -> tuple[list[Array], list[Finding]]:
    """The outputs of a run that comes to its end, sample by sample, and what was touched in it in the wrong order."""
    watched = {(pair.tile, label) for pair in races(program) for label in (pair.first, pair.other)}
    parts = [np.split(array, samples) for array in inputs]
    runs = [
        stepped.simulate(program, [part[k] for part in parts], observes=True, holds=held, watched=watched)
        for k in range(samples)
    ]
    assert not any(run.hung or run.collided for run in runs), "the stepped model ends as the other one did"
    outputs = [np.concatenate(arrays) for arrays in zip(*(run.outputs for run in runs), strict=True)]
    return outputs, list(_findings(program, runs[0].touches))


def _findings(program: Program, touches: Touches) -> Iterator[Finding]:
    """One for each pair and memory, in their order in time."""
    merged: dict[tuple[int, str, str, str], int] = {}
    for pair in races(program):
        key = pair.tile, pair.first, pair.other, pair.memory
        merged[key] = merged.get(key, 0) | pair.touched
    loading = {op.label for op in program.load}
    findings: list[Finding] = []
    for key, touched in merged.items():
        finding = _finding(Unordered(*key, touched), "load" if key[1] in loading else "run", touches)
        if finding is not None:
            findings.append(finding)
    yield from sorted(findings, key=lambda finding: (finding["section"], finding["cycle"], finding["tile"]))


def _finding(pair: Unordered, section: str, touches: Touches) -> Finding | None:
    """The bytes that the two touched in another order than that of the program, and how they first did."""
    low, end = (pair.touched & -pair.touched).bit_length() - 1, pair.touched.bit_length()
    first, other = (
        _Times([touch for touch in touches[pair.tile, label] if touch.memory == pair.memory], low, end)
        for label in (pair.first, pair.other)
    )
    clashes = [
        _Clash("wrote", first.last_write, "read", other.first_read, other.first_read <= first.last_write),
        _Clash("read", first.last_read, "wrote", other.first_write, other.first_write < first.last_read),
        _Clash("wrote", first.last_write, "wrote", other.first_write, other.first_write <= first.last_write),
    ]
    wrong = np.flatnonzero(np.any([clash.wrong for clash in clashes], axis=0))
    if not len(wrong):
        return None
    clash = min((clash for clash in clashes if clash.wrong.any()), key=lambda clash: clash.cycle)
    return {
        "kind": TOUCHED,
        "section": section,
        "tile": pair.tile,
        "memory": pair.memory,
        "bytes": [int(wrong[0]) + low, int(wrong[-1]) + low],
        "count": len(wrong),
        "instructions": [pair.first, pair.other],
        "accesses": [clash.late, clash.early],
        "cycle": clash.cycle,
        "until": int(clash.last[clash.wrong].max()),
    }


class _Clash(NamedTuple):
    """What the first instruction of a pair did ``late``, ``last`` in these cycles, with bytes of which those that are
    ``wrong`` had gone through what the other did ``early``, in the cycles ``since``.
    """

    late: str
    last: Cycles
    early: str
    since: Cycles
    wrong: NDArray[np.bool_]

    @property
    def cycle(self) -> int:
        return int(self.since[self.wrong].min())


class _Times:
    """The cycles in which an instruction touched each byte of a memory from ``low`` up to ``end``; where it never did,
    the last one is -1 and the first one far off.
    """

    def __init__(self, touches: Sequence[Touch], low: int, end: int) -> None:
        self.first_read, self.first_write = (np.full(end - low, FAR, np.int64) for _ in range(2))
        self.last_read, self.last_write = (np.full(end - low, -1, np.int64) for _ in range(2))
        for touch in touches:
            place = slice(max(0, touch.address - low), max(0, touch.address + touch.width_bytes - low))
            firsts = self.first_write if touch.writes else self.first_read
            lasts = self.last_write if touch.writes else self.last_read
            firsts[place] = np.minimum(firsts[place], touch.cycle)
            lasts[place] = np.maximum(lasts[place], touch.cycle)

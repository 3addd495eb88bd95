"""What instructions whose accesses nothing orders do to each other's bytes in a run.

Their order in the program is the one that is meant. Whether a byte is touched in it, and what its value is if not, only
accesses cycle by cycle tell; so the run is made on the stepped model as well, which takes the same cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

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
CLASHES = (("wrote", "read"), ("read", "wrote"), ("wrote", "wrote"))
"""What the first of a pair may do too late, and the other too early."""
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
    return outputs, misplaced(program, runs[0].touches)


def misplaced(program: Program, touches: Touches) -> list[Finding]:
    """What was touched in another order than that of the program: a finding for each pair and memory, in their order in
    time.
    """
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
    return sorted(findings, key=lambda finding: (finding["section"], finding["cycle"], finding["tile"]))


def _finding(pair: Unordered, section: str, touches: Touches) -> Finding | None:
    """The bytes that the two touched in another order than that of the program, and how they first did."""
    low, end = (pair.touched & -pair.touched).bit_length() - 1, pair.touched.bit_length()
    _, lasts = _cycles((touch for touch in touches[pair.tile, pair.first] if touch.memory == pair.memory), low, end)
    firsts, _ = _cycles((touch for touch in touches[pair.tile, pair.other] if touch.memory == pair.memory), low, end)
    clashes = []
    for late, early in CLASHES:
        since, last = firsts[early], lasts[late]
        wrong = since < last + (late == "wrote")  # who reads in the cycle of a write sees the old byte
        if wrong.any():
            clashes.append((int(since[wrong].min()), int(last[wrong].max()), late, early, wrong))
    if not clashes:
        return None
    cycle, until, late, early, _ = min(clashes, key=itemgetter(0))
    wrongs = np.flatnonzero(np.any([wrong for *_, wrong in clashes], axis=0))
    return {
        "kind": TOUCHED,
        "section": section,
        "tile": pair.tile,
        "memory": pair.memory,
        "bytes": [int(wrongs[0]) + low, int(wrongs[-1]) + low],
        "count": len(wrongs),
        "instructions": [pair.first, pair.other],
        "accesses": [late, early],
        "cycle": cycle,
        "until": until,
    }


def _cycles(touches: Iterable[Touch], low: int, end: int) -> tuple[dict[str, Cycles], dict[str, Cycles]]:
    """The first and the last cycles in which an instruction ``read`` and ``wrote`` each byte of a memory from ``low``
    up to ``end``; where it never did, the first one is far off and the last one -1.
    """
    firsts = {verb: np.full(end - low, FAR, np.int64) for verb in ("read", "wrote")}
    lasts = {verb: np.full(end - low, -1, np.int64) for verb in ("read", "wrote")}
    for touch in touches:
        place = slice(max(0, touch.address - low), max(0, touch.address + touch.width_bytes - low))
        verb = "wrote" if touch.writes else "read"
        firsts[verb][place] = np.minimum(firsts[verb][place], touch.cycle)
        lasts[verb][place] = np.maximum(lasts[verb][place], touch.cycle)
    return firsts, lasts

"""Start times with which transfers are seen to break the rule for masters that a proof could not show them to keep.

A refutation says that nothing orders two transfers. Whether they ever come so close depends on delays; here they are
sought by running the program, so that what is said of start times has been seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from tilesim.errors import HangError
from tilesim.findings import Finding
from tilesim.machines import frame
from tilesim.machines.holds import LATEST, holds
from tilesim.tiled.isa.model.neighbours import node_name
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import Proof, Refutation
from tilesim.tiled.rules.ring.collisions import Collision
from tilesim.tiled.rules.ring.counterexample import StartTimes, start_times
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.soundness import unrunnable
from tilesim.tiled.rules.untimed.work_queues import WorkQueues, work_queues
from tilesim.tiled.run import host_driver
from tilesim.tiled.run.simulate import run_sections, tiles_of
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.ring.ring_monitor import AT_ONCE, MEETING

BUDGET = 1_000_000
"""Work for which one proof may have its program run: instructions and their rounds, tile by tile."""
TILE = 100
"""What a tile costs in a run beside that."""
GUESSES = 2
"""Start times that are tried for every pair before more are for any."""

Party = tuple[str, int, str]
"""A transfer as findings name it: its instruction, which of that one's transfers it is, and its master."""


def seen(proof: Proof, budget: int = BUDGET) -> Proof:
    """The proof, its refuted transfers with start times with which they were seen to break the rule, where such have
    been found within the ``budget``. A program that no chip could run is left as it is.
    """
    if proof.masters is None or unrunnable(proof.program):
        return proof
    runs = _Runs(work_queues(proof.program), proof.reading, budget)
    refutations = proof.refutations
    for first, end in ((0, GUESSES), (GUESSES, None)):
        refutations = tuple(runs.tried(refutation, first, end) for refutation in refutations)
    return replace(proof, refutations=refutations)


class _Runs:
    """Runs of one program, as many as the budget allows; what one shows of other pairs is kept."""

    def __init__(self, work: WorkQueues, reading: Reading, budget: int) -> None:
        self._work, self._reading = work, reading
        self._left = budget // (TILE * work.tiles + sum(1 + task.rounds for queue in work.queues for task in queue))
        self._seen: dict[tuple[str, frozenset[Party]], StartTimes] = {}

    def tried(self, refutation: Refutation, first: int, end: int | None) -> Refutation:
        """A refutation after runs with more start times, if it needs any: those from ``first`` up to ``end``."""
        collision, runs = refutation.collision, refutation.runs
        if collision is None or refutation.start_times is not None:
            return refutation
        possible = (
            times
            for times in start_times(self._work, collision)
            if all(0 <= cycle <= LATEST for cycle in times.values())
        )
        for times in islice(possible, first, end):
            if not self._left:
                break
            self._left, runs = self._left - 1, runs + 1
            if self._shows(collision, times):
                return replace(refutation, start_times=times, runs=runs)
        return replace(refutation, start_times=self._seen.get(self._key(collision)) if end is None else None, runs=runs)

    def _shows(self, collision: Collision, times: Mapping[str, int]) -> bool:
        """Whether a run with these start times does."""
        findings = _noticed(self._work.program, times, self._reading)
        pairs = {_pair(finding) for finding in findings if finding["kind"] in {MEETING, AT_ONCE}}
        for pair in pairs:
            self._seen.setdefault(pair, times)
        return self._key(collision) in pairs

    def _key(self, collision: Collision) -> tuple[str, frozenset[Party]]:
        kind = AT_ONCE if collision.at_once else MEETING
        return kind, frozenset(self._party(transfer) for transfer in (collision.first, collision.other))

    def _party(self, transfer: Transfer) -> Party:
        return transfer.name, transfer.ordinal, node_name(transfer.master, self._work.tiles)


def _pair(finding: Finding) -> tuple[str, frozenset[Party]]:
    parties = zip(finding["instructions"], finding["transfers"], finding["masters"], strict=True)
    return finding["kind"], frozenset(parties)


def _noticed(program: Program, given: Mapping[str, int], masters: Reading) -> list[Finding]:
    """What is noticed on the ring in a run with zeros for inputs and with holds ``given``, if that comes to its end or
    not.
    """
    program = frame.named(program)
    arrays = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    rows_of_host, samples = host_driver.rows_of_inputs(program, arrays)
    chip = Chip(program.topology, samples, None, frame.forget, reading=masters)
    try:
        run_sections(chip, program, rows_of_host, holds(program, given, tiles_of))
    except HangError as error:
        return error.findings
    return chip.monitor.findings()

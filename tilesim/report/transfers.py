"""The transfers that a run waits for, and what it would save if one took no time: simulated, not guessed."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from tilesim import api
from tilesim.errors import InputError, RunError
from tilesim.machines.options import RunOptions, Say, silent
from tilesim.machines.program import Program
from tilesim.registry import description_of
from tilesim.report.analysis.blame import blamed
from tilesim.report.analysis.critical_path import CriticalPath
from tilesim.report.analysis.spans import busy_kind
from tilesim.report.document import PROGRAM_FILE, RUN_FILE, SavedRun
from tilesim.report.tracks import tracks_where
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

SHOWN = 10
DEFINITION = (
    "On the critical path: its cycles there, also on the links that carry it. Waited for: the stalled cycles of others "
    "that ended with it, several of which may be in one cycle. Neither says what the run would save if it took no time "
    "(no cycle of its own, no port, no place on a link; the same bytes in the same order): less, where another chain "
    "of work is then the longest, more, where ports and links are free for others; even less than nothing, where "
    "others then come in a worse order. The command, in the run's folder, simulates that; the page has it for the "
    "first N where --what-if N asked for it."
)


@dataclass(frozen=True)
class Transfer:
    """An instruction that is a transfer, by its label; its cycles on the critical path, those of others' stalls that
    ended with it, and how many units these are.
    """

    label: str
    track: str
    layer: str
    path_cycles: int
    waited_cycles: int
    victims: int
    rules: str

    @property
    def command(self) -> str:
        """What simulates the run in which it takes no time."""
        rules = [] if self.rules == RunOptions.rules else ["--rules", self.rules]
        return shlex.join(["tilesim", "run", PROGRAM_FILE, *rules, "--instant", self.label])


def transfers(run: SavedRun) -> list[Transfer]:
    """Those that something waited for, or that are on the critical path: these first, the longest before others."""
    if run.trace is None or run.path is None or run.stalls is None:
        return []
    movers = _movers(run.statistics, run.trace)
    waited = {each.label: each for each in blamed(run.trace, run.stalls)}
    on_path = _on_path(run.trace, run.path)
    found = [
        Transfer(
            label,
            track,
            run.trace.layers[layer] if (layer := int(run.trace.layer_of[run.trace.whats.index(label)])) >= 0 else "",
            on_path.get(label, 0),
            waited[label].cycles if label in waited else 0,
            waited[label].victims if label in waited else 0,
            _rules(run),
        )
        for label, track in movers.items()
        if label in on_path or label in waited
    ]
    return sorted(found, key=lambda each: (-each.path_cycles, -each.waited_cycles, each.label))


def _rules(run: SavedRun) -> str:
    """Those under which the run came to its end: with findings, it was only observed."""
    return "observe" if run.statistics.get("findings") else RunOptions.rules


def _movers(statistics: RunStatistics, trace: Trace) -> dict[str, str]:
    """The instructions that units carry out which move something, each with the first of these units."""
    movers = tracks_where(
        trace.tracks, description_of(statistics["machine"]), lambda role: "moves" if role.moves else ""
    )
    places = np.array([track in movers for track in trace.tracks], np.bool_)
    spans = np.flatnonzero(places[trace.track] & (trace.kind == busy_kind(trace)))
    whats, first = np.unique(trace.what[spans], return_index=True)
    named = zip(whats.tolist(), spans[first].tolist(), strict=True)
    return {trace.whats[what]: trace.tracks[trace.track[span]] for what, span in named if trace.whats[what]}


def _on_path(trace: Trace, path: CriticalPath) -> dict[str, int]:
    some = path.what >= 0
    sums = np.bincount(path.what[some], path.cycles[some], len(trace.whats))
    return {trace.whats[what]: int(sums[what]) for what in np.flatnonzero(sums).tolist()}


def simulated(run: SavedRun, most: int, say: Say = silent) -> SavedRun:
    """The run, with the cycles that it takes if one of its ``most`` foremost transfers takes no time, for each.

    Raises:
        InputError: it has no trace or no program, did not come to its end, or is not what its program does as it is.
    """
    if run.trace is None:
        raise InputError(
            f"{run.folder}: must have a trace to say what is waited for, which `tilesim run --trace` records"
        )
    program = run.program
    if program is None:
        raise InputError(f"{run.folder}: must have a {PROGRAM_FILE} to simulate, which `tilesim run --out` writes")
    say("simulating the run as it was")
    if what := _not_as_it_was(run, program):
        raise InputError(f"{run.folder / RUN_FILE}: must be of {PROGRAM_FILE} beside it, run without options, {what}")
    cycles: dict[str, int] = {}
    for transfer in transfers(run)[:most]:
        say(f"simulating the run with {transfer.label} in no time")
        with suppress(RunError):  # a run that can't go on so takes no number of cycles
            cycles[transfer.label] = api.simulate(program, rules=_rules(run), instant=[transfer.label]).cycles
    return replace(run, instant_cycles=cycles)


def _not_as_it_was(run: SavedRun, program: Program) -> str:
    """How the run differs from what its program does, if it does."""
    if "end" in run.statistics:
        return "which did not come to its end"
    try:
        cycles = api.simulate(program, rules=_rules(run)).cycles
    except RunError:
        return "not of one that can't go on so"
    return "" if cycles == run.statistics["cycles"] else f"not of one that takes {cycles:,} cycles"

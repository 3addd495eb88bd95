"""The options that say how programs are run, and how much of a run is recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tilesim.budgets import MOST_RUN_INFERENCES, MOST_SIGNAL_VALUES
from tilesim.cli.faults import faults_of
from tilesim.cli.options.groups import Options, word_option
from tilesim.cli.paths import path_option
from tilesim.energy import Table, load_table
from tilesim.errors import ArrayError, InputError, refuse
from tilesim.files import must_be_file
from tilesim.machines.options import RunOptions
from tilesim.printable import shown
from tilesim.sim.trace.recorder import Recording


def whole_number(word: str) -> int:
    """How many they are, whatever is asked of that number."""
    if not re.fullmatch(r"-?[0-9]{1,40}", str(word)):
        raise InputError(f"--inferences must be a whole number, not {shown(word)}")
    return int(word)


InputsOption = Annotated[
    Path | None, path_option("FILE.npz|.npy", "Arrays in0, in1, ... of one model; random ones if not given.")
]
MastersOption = Annotated[
    str,
    word_option(
        "single|disjoint|meet",
        "What transfers of two masters must not do: be under way at once (single), be so past a node in common "
        "(disjoint), or meet there.",
    ),
]
RulesOption = Annotated[
    str,
    word_option(
        "strict|observe",
        "What becomes of transfers that meet on the ring, and of accesses that nothing orders: strict ends or "
        "refuses the run; observe goes on, and says what came of it.",
    ),
]
HoldOption = Annotated[
    list[str] | None,
    word_option(
        "LABEL[@TILE]=CYCLE",
        "Let an instruction of the program, on one tile or wherever it goes, not begin before a cycle of the "
        "run. May be given several times.",
    ),
]
EngineOption = Annotated[
    str,
    word_option(
        "auto|compiled|simpy",
        "Who runs a tiled machine's program: its units, on SimPy; the compiled engine, which makes the same of it "
        "sooner, and refuses what it does not cover; or auto, which leaves that to SimPy. TILESIM_ENGINE is for all "
        "commands.",
    ),
]
ARRAYS = (".npz", ".npy")
"""How a file of inputs may end."""
END = 1 << 62
"""A cycle after every run, and beyond all of 18 digits."""


@dataclass(frozen=True)
class RunningOptions(Options):
    """How programs are run."""

    inputs: InputsOption = None
    inferences: Annotated[
        int,
        typer.Option(
            "--inferences", "-n", metavar="N", parser=whole_number, help="Inferences of each model, the models in turn."
        ),
    ] = 1
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Record what every unit does when: into DIR/trace.npz, its hash into the statistics."
        ),
    ] = False
    trace_window: Annotated[
        str | None,
        word_option("FROM:TO", "Record only these cycles of the run, the second one left out; either may be missing."),
    ] = None
    trace_tracks: Annotated[
        list[str] | None,
        word_option(
            "GLOB",
            "Record only the units and links whose names match, such as 'chip.tile0.*' or 'chip.ring.*'. May be "
            "given several times.",
        ),
    ] = None
    signals: Annotated[
        str | None,
        word_option(
            "FROM:TO",
            "Log what flags, queues, buses and units hold in each of these cycles: into DIR/signals.npz. Either may be "
            f"missing; at most {MOST_SIGNAL_VALUES:,} values, cycles x signals.",
        ),
    ] = None
    rules: RulesOption = "strict"
    masters: MastersOption = "meet"
    engine: EngineOption = ""
    hold: HoldOption = None
    instant: Annotated[
        list[str] | None,
        word_option(
            "LABEL",
            "Let a transfer of the program, or all that match a pattern such as '*.send', take no time: to see what "
            "the run would save. May be given several times.",
        ),
    ] = None
    ring_trace: Annotated[
        Path | None,
        path_option(
            "FILE.csv", "Where every packet at every stop of the ring goes, also of a run that can't go on: a table."
        ),
    ] = None
    energy: Annotated[
        Path | None,
        path_option(
            "FILE.yaml", "Energies of actions that replace those of tilesim's own table, which is in run.json."
        ),
    ] = None

    out: Annotated[
        Path | None,
        path_option(
            "DIR",
            "Where outputs, statistics and program go, of several chips into a folder each: of those on "
            "which it ran, all or none. Nowhere if not given.",
        ),
    ] = None

    def faults(self) -> Iterator[str]:
        if not 1 <= self.inferences <= MOST_RUN_INFERENCES:
            yield f"--inferences must be from 1 to {MOST_RUN_INFERENCES:,}, not {self.inferences:,}"
        yield from faults_of(
            self.recording, self.log_window, self.energies, self.holds, lambda: must_hold_arrays(self.inputs)
        )
        words = RunOptions(rules=self.rules, masters=self.masters, engine=self.engine or RunOptions.engine)
        yield from (f"--{fault}" for fault in words.faults())

    def recording(self) -> Recording | None:
        """What is to be recorded, if anything; a window or tracks ask for it as well."""
        if not (self.trace or self.trace_window or self.trace_tracks):
            return None
        window = None if self.trace_window is None else window_of("--trace-window", self.trace_window)
        return Recording(window, tuple(self.trace_tracks or ("*",)))

    def log_window(self) -> range | None:
        """The cycles for the state log, if there is to be one."""
        return None if self.signals is None else window_of("--signals", self.signals)

    def energies(self) -> Table | None:
        """What actions cost, if not what tilesim's own table says."""
        return None if self.energy is None else load_table(self.energy)

    def holds(self) -> dict[str, int]:
        """The cycles before which instructions must not begin."""
        pairs = [word.rpartition("=") for word in self.hold or ()]
        refuse(
            f"--hold {f'{label}{equals}{cycle}' or repr('')}: must be LABEL=CYCLE or LABEL@TILE=CYCLE, such as send=100"
            for label, equals, cycle in pairs
            if not label or not re.fullmatch(r"[0-9]{1,18}", cycle)
        )
        return {label: int(cycle) for label, _, cycle in pairs}


def must_hold_arrays(path: Path | None) -> None:
    """A file of inputs, if there is one, is there, and of a kind that holds arrays."""
    if path is not None:
        must_be_file(path, ArrayError)
        if path.suffix not in ARRAYS:
            raise ArrayError(f"{path}: must end in {' or '.join(ARRAYS)}, not in {path.suffix or 'nothing'}")


def window_of(option: str, words: str) -> range:
    """The cycles that ``words`` after an ``option`` name. Raises InputError."""
    match = re.fullmatch(r"([0-9]{0,18}):([0-9]{0,18})", words, re.ASCII)
    if match is None:
        raise InputError(f"{option} {words}: must be FROM:TO, two cycles such as 1000:2000")
    first, end = int(match[1] or 0), int(match[2] or END)
    if first >= end:
        raise InputError(f"{option} {words}: must end after it begins")
    return range(first, end)

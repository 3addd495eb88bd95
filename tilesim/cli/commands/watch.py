"""``tilesim watch``: what units are at in each cycle, a line a cycle."""

from __future__ import annotations

import re
from shutil import get_terminal_size
from typing import Annotated

import typer

from tilesim.cli.faults import Faults
from tilesim.cli.options.batching import BatchOptions
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.groups import word_option
from tilesim.cli.options.models import SourceArgument
from tilesim.cli.options.running import (
    HoldOption,
    InputsOption,
    MastersOption,
    RulesOption,
    RunningOptions,
)
from tilesim.cli.output import QuietOption, tell, tell_json_lines
from tilesim.cli.programs import programs_of, read_sources
from tilesim.cli.progress import progress
from tilesim.cli.simulation import cut, simulated_once
from tilesim.errors import InputError, RunError, refuse
from tilesim.findings import sentence
from tilesim.machines.frame import named
from tilesim.machines.program import Program
from tilesim.printable import shown
from tilesim.run import Run
from tilesim.sim.trace.signals import Signals

NARROWEST = 120
"""Columns that a line has at least, whatever the terminal says."""


def cycle_number(word: str) -> int:
    """A cycle from the command line."""
    if not re.fullmatch(r"[0-9]{1,18}", str(word), re.ASCII):
        raise InputError(f"--from and --to must be cycles of the run, such as 100, not {shown(word)}")
    return int(word)


def command(
    model: SourceArgument,
    chips: ChipOptions,
    compilation: CompilationOptions,
    faults: Faults,
    from_: Annotated[
        int, typer.Option("--from", metavar="CYCLE", parser=cycle_number, help="The first cycle of the run to show.")
    ] = 0,
    to: Annotated[
        int | None,
        typer.Option(
            "--to",
            metavar="CYCLE",
            parser=cycle_number,
            help="The one after the last; the end of the run if not given.",
            show_default=False,
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        word_option("GLOB", "Show only units whose names match, such as 'chip.tile0.*'. May be given several times."),
    ] = None,
    inputs: InputsOption = None,
    rules: RulesOption = "strict",
    masters: MastersOption = "meet",
    hold: HoldOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print a line of JSON a cycle and nothing else.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Show what the units of a small chip are at, a line a cycle.

    Each unit has a column: the instruction that it is at, what it waits for, or a dot. On the right stands which flags
    and queues change. Links are left out that carry what units show, and MAC arrays, which do as their tensor controls
    do: --units '*' has all. If the run can't go on, the lines end where it stands; the reason follows, and the exit
    status is 3.
    """
    window = f"{from_}:{'' if to is None else to}"
    options = RunningOptions(
        inputs=inputs, trace_window=window, signals=window, rules=rules, masters=masters, hold=hold
    )
    with progress(f"compiling {model}", quiet) as say:
        sources = read_sources([model], chips, [compilation], faults, takes_chips=len(chips.names) < 2)
        if to is not None and to <= from_:
            faults.append(f"--to must be a cycle after --from, {from_:,}, not {to:,}")
        else:
            faults += options.faults()
        refuse(faults)
        [program], notes = programs_of(sources, compilation, say, BatchOptions())
    program = named(program)
    try:
        run = simulated_once(model, program, options, quiet)
    except RunError as error:
        if error.run is not None and error.run.signals is not None:
            _show(program, error.run, options, units or [], json_)
        raise
    notes += cut(run, options.log_window())
    if notes and not (json_ or quiet):
        tell(*notes)
    _show(program, run, options, units or [], json_)
    findings = run.statistics.get("findings", [])
    if findings and not json_:
        tell(*map(sentence, findings))


def _show(program: Program, run: Run, options: RunningOptions, units: list[str], json_: bool) -> None:
    from tilesim.registry import description_of
    from tilesim.report.watch import Watch, documents
    from tilesim.report.watch_text import lines

    assert run.trace is not None
    wanted = options.log_window() or range(0)
    signals = run.signals or Signals.none(range(min(wanted.start, run.cycles), min(wanted.stop, run.cycles)))
    watch = Watch(run.trace, signals, description_of(program.topology.machine), units)
    refuse(f"--units: each {fault}" for fault in watch.unmatched(program.topology.name))
    if json_:
        tell_json_lines(documents(watch))
        return
    width = max(NARROWEST, get_terminal_size().columns)
    text = [*lines(watch, [op.label for op in program.run], width)]
    window = signals.window
    which = f"cycles {window.start:,} to {window.stop - 1:,} of {run.cycles:,}"
    tell(f"{program.name} on {program.topology.name}: {which}", *text)

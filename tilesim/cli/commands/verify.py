"""``tilesim verify``: a run on both models of the chip, compared cycle by cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tilesim import api
from tilesim.cli.faults import Faults, faults_of
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.models import SourceArgument
from tilesim.cli.options.running import InputsOption, must_hold_arrays
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.programs import programs_of, read_sources
from tilesim.cli.progress import progress
from tilesim.cli.simulation import arrays_for, naming
from tilesim.errors import refuse
from tilesim.machines.machine import SecondModel
from tilesim.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

    from tilesim.machines.verify import Difference, Divergence, Verdict

LISTED = 20
"""Differences that are shown."""
DIFFER = 1
"""The exit status."""


def command(
    model: SourceArgument,
    chips: ChipOptions,
    compilation: CompilationOptions,
    faults: Faults,
    inputs: InputsOption = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run one inference on two models of a chip and compare them.

    One, which `tilesim run` uses, computes with stretches of time; the other steps through every cycle, and is slow.
    Outputs, cycles, and the busy, stalled and idle cycles of every unit must be the same. The exit status is 1 if
    anything differs. Models agree, too, on a program that hangs in both: `tilesim run` says why.
    """
    with progress(f"compiling {model}", quiet) as say:
        sources = read_sources([model], chips, [compilation], faults, SecondModel)
        refuse([*faults, *faults_of(lambda: must_hold_arrays(inputs))])
        [program], _ = programs_of(sources, compilation, say)
        arrays = arrays_for(program, inputs)
        with naming(model, inputs):
            verdict = api.verify(program, arrays, say)
    if json_:
        tell_json(verdict.document())
    else:
        _show(verdict)
    if not verdict.agree:
        raise typer.Exit(DIFFER)


def _show(verdict: Verdict) -> None:
    from tilesim.report.terminal import show

    where = f"{verdict.program} on {verdict.topology}"
    if verdict.agree and verdict.ended:
        tell(f"{where}: both models agree", _agreed(verdict))
        return
    if verdict.agree:
        tell(f"{where}: both models agree that {verdict.end}", "nothing else was compared; tilesim run says why")
        return
    tell(f"{where}: the models differ")
    if verdict.divergence is not None:
        first = verdict.divergence
        tell(f"first in cycle {first.cycle:,} of the {first.section} program: {first.track}, {_said(first)}")
    show("", _table(verdict.differences))
    if len(verdict.differences) > LISTED:
        tell(f"and {len(verdict.differences) - LISTED:,} more")


def _said(first: Divergence) -> str:
    return f"event-driven: {first.event}; stepped: {first.stepped}"


def _agreed(verdict: Verdict) -> str:
    cycles = f"{verdict.load_cycles:,} cycles of loading and {verdict.cycles:,} of the run"
    return f"{cycles}, all outputs, and what each of {verdict.compared_units:,} units and links did in them"


def _table(differences: tuple[Difference, ...]) -> Table:
    from tilesim.report.tables import folded, right, table

    lines = table(*folded("unit", "what"), *right("event-driven", "stepped"))
    for difference in differences[:LISTED]:
        unit, what = difference.track or "the run", difference.what.replace("_", " ")
        lines.add_row(*map(printable, (unit, what, difference.event, difference.stepped)))
    return lines

"""``tilesim verify``: a run on two models of the chip, compared cycle by cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
from tilesim.machines.verify import BOTH
from tilesim.machines.verify import faults as model_faults
from tilesim.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

    from tilesim.machines.verify import Verdict

LISTED = 20
"""Differences that are shown."""
DEFAULT = ",".join(BOTH)
DIFFER = 1
"""The exit status."""
EnginesOption = Annotated[
    str,
    typer.Option(
        "--engines",
        metavar="ONE,OTHER",
        help="Which two are compared: of simpy, compiled (of a tiled machine) and stepped.",
    ),
]


def command(
    model: SourceArgument,
    chips: ChipOptions,
    compilation: CompilationOptions,
    faults: Faults,
    inputs: InputsOption = None,
    engines: EnginesOption = DEFAULT,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run one inference on two models of a chip and compare them.

    `simpy`, the one that defines what a run is, computes with stretches of time; `stepped` steps through every cycle,
    and is slow; `compiled` is the engine that `tilesim run` mostly takes. Outputs, cycles, and the busy, stalled and
    idle cycles of every unit must be the same. The exit status is 1 if anything differs. They agree, too, on a program
    that hangs in both: `tilesim run` says why.
    """
    with progress(f"compiling {model}", quiet) as say:
        sources = read_sources([model], chips, [compilation], faults, SecondModel)
        models = tuple(engine.strip() for engine in engines.split(","))
        refuse([*faults, *faults_of(lambda: must_hold_arrays(inputs)), *model_faults(models)])
        [program], _ = programs_of(sources, compilation, say)
        arrays = arrays_for(program, inputs)
        with naming(model, inputs):
            verdict = api.verify(program, arrays, say, engines=(models[0], models[1]))
    if json_:
        tell_json(verdict.document())
    else:
        _show(verdict)
    if not verdict.agree:
        raise typer.Exit(DIFFER)


def _show(verdict: Verdict) -> None:
    from tilesim.report.terminal import show

    where, (one, other) = f"{verdict.program} on {verdict.topology}", verdict.models
    if verdict.agree and verdict.ended:
        tell(f"{where}: {one} and {other} agree", _agreed(verdict))
        return
    if verdict.agree:
        tell(f"{where}: {one} and {other} agree that {verdict.end}", "nothing else was compared; tilesim run says why")
        return
    tell(f"{where}: {one} and {other} differ")
    if verdict.divergence is not None:
        first = verdict.divergence
        said = f"{first.track}, {one}: {first.one}; {other}: {first.other}"
        tell(f"first in cycle {first.cycle:,} of the {first.section} program: {said}")
    show("", _table(verdict))
    if len(verdict.differences) > LISTED:
        tell(f"and {len(verdict.differences) - LISTED:,} more")


def _agreed(verdict: Verdict) -> str:
    cycles = f"{verdict.load_cycles:,} cycles of loading and {verdict.cycles:,} of the run"
    return f"{cycles}, all outputs, and what each of {verdict.compared_units:,} units and links did in them"


def _table(verdict: Verdict) -> Table:
    from tilesim.report.tables import folded, right, table

    lines = table(*folded("unit", "what"), *right(*verdict.models))
    for difference in verdict.differences[:LISTED]:
        unit, what = difference.track or "the run", difference.what.replace("_", " ")
        lines.add_row(*map(printable, (unit, what, difference.one, difference.other)))
    return lines

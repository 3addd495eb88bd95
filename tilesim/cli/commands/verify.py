"""``tilesim verify``: a run on both models of the chip, compared cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim import api
from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides
from tilesim.cli.options.compilation import Caching, LayerPriorityOption, NoCacheOption, PriorityOption, programs_of
from tilesim.cli.options.inputs import load_inputs, random_inputs
from tilesim.cli.options.partition import PartitionOption
from tilesim.cli.output import tell, tell_json
from tilesim.cli.paths import given_path
from tilesim.cli.progress import progress
from tilesim.cli.simulation import naming
from tilesim.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

    from tilesim.machines.first_divergence import Divergence
    from tilesim.machines.verify import Difference, Verdict

LISTED = 20
"""Differences that are shown."""
DIFFER = 1
"""The exit status."""


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_PROGRAM",
            help="A .tflite, .onnx, .yaml, .tasm or .tbin file, or a workload's name.",
            show_default=False,
        ),
    ],
    topology: TopologyOption = None,
    set_: SetOption = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz|.npy",
            help="Arrays in0, in1, ... of the model; random ones if not given.",
            parser=given_path,
        ),
    ] = None,
    no_cache: NoCacheOption = False,
    priority: PriorityOption = None,
    layer_priority: LayerPriorityOption = None,
    partition: PartitionOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Run one inference on two models of the chip and compare them.

    One, which `tilesim run` uses, computes with stretches of time; the other steps through every cycle, and is slow.
    Outputs, cycles, and the busy, stalled and idle cycles of every unit must be the same. The exit status is 1 if
    anything differs.
    """
    caching = Caching(no_cache, priority, layer_priority, partition)
    with progress(f"compiling {model}") as say:
        [program] = programs_of([model], one_chip(topology), overrides(set_), caching, say).programs
        arrays = random_inputs(program.inputs) if inputs is None else load_inputs(inputs, len(program.inputs))
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
    if verdict.agree:
        tell(f"{where}: both models agree", _agreed(verdict))
        return
    tell(f"{where}: the models differ")
    if verdict.departure is not None:
        first = verdict.departure
        tell(f"first in cycle {first.cycle:,} of the {first.section} program: {first.track}, {_said(first)}")
    show("", _table(verdict.differences))
    if len(verdict.differences) > LISTED:
        tell(f"and {len(verdict.differences) - LISTED:,} more")


def _said(first: Divergence) -> str:
    return f"event-driven: {first.event}; stepped: {first.stepped}"


def _agreed(verdict: Verdict) -> str:
    if not verdict.ended:
        return f"{verdict.end}, in both"
    cycles = f"{verdict.load_cycles:,} cycles of loading and {verdict.cycles:,} of the run"
    return f"{cycles}, all outputs, and what each of {verdict.compared_units:,} units and links did in them"


def _table(differences: tuple[Difference, ...]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("unit", "what", "event-driven", "stepped"):
        table.add_column(title, justify="left" if title in ("unit", "what") else "right")
    for row in _rows(differences[:LISTED]):
        table.add_row(*map(printable, row))
    return table


def _rows(differences: tuple[Difference, ...]) -> Iterator[tuple[str, str, str, str]]:
    for each in differences:
        yield each.track or "the run", each.what.replace("_", " "), each.event, each.stepped

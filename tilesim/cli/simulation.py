"""A program, run with the user's arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.options.inputs import load_inputs, random_inputs
from tilesim.cli.progress import simulating
from tilesim.errors import ArrayError, InputError, ProgramError
from tilesim.machines.options import RunOptions
from tilesim.machines.program import Program
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording

RulesOption = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="strict|observe",
        help="What becomes of transfers that meet on the ring, and of accesses that nothing orders: strict ends or "
        "refuses the run; observe goes on, and says what came of it.",
    ),
]
MastersOption = Annotated[
    str,
    typer.Option(
        "--masters",
        metavar="single|disjoint|meet",
        help="What transfers of two masters must not do: be under way at once (single), be so past a node in common "
        "(disjoint), or meet there.",
    ),
]
HoldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hold",
        metavar="LABEL[@TILE]=CYCLE",
        help="Let an instruction of the program, on one tile or wherever it goes, not begin before a cycle of the run. "
        "May be given several times.",
    ),
]


def start_times(words: list[str] | None) -> dict[str, int]:
    """The words after ``--hold`` as instructions and cycles.

    Raises:
        InputError: words that are not LABEL=CYCLE, all at once.
    """
    pairs = [word.rpartition("=") for word in words or []]
    if faults := [
        f"--hold {label}{equals}{cycle}: must be LABEL=CYCLE or LABEL@TILE=CYCLE, such as send=100"
        for label, equals, cycle in pairs
        if not label or not re.fullmatch(r"[0-9]{1,18}", cycle)
    ]:
        raise InputError(faults)
    return {label: int(cycle) for label, _, cycle in pairs}


def simulated(
    model: str,
    program: Program,
    inputs: Path | None,
    trace: Recording | None = None,
    rules: str = "strict",
    holds: Mapping[str, int] | None = None,
    masters: str = RunOptions.masters,
) -> Run:
    """One inference of ``program``, made from ``model``, with the arrays of the file ``inputs``, or random ones; the
    rest is as in :func:`tilesim.simulate`.

    Raises:
        InputError: inputs that do not fit, or an instruction that the chip could not run; each names its file.
        RunError: the run can't go on.
    """
    with simulating(f"{program.name} on {program.topology.name}") as on_start:
        arrays = random_inputs(program.inputs) if inputs is None else load_inputs(inputs, len(program.inputs))
        with naming(model, inputs):
            return api.simulate(
                program,
                arrays,
                trace=trace or False,
                rules=rules,
                holds=holds,
                on_start=on_start,
                masters=masters,
            )


@contextmanager
def naming(model: str, inputs: Path | None) -> Iterator[None]:
    """Faults found in here are in the file of the arrays, or of the model."""
    try:
        yield
    except ArrayError as error:
        raise ArrayError(f"{inputs or model}: {fault}" for fault in error.faults) from None
    except ProgramError as error:
        raise ProgramError(f"{model}: {fault}" for fault in error.faults) from None


def samples(program: Program, run: Run) -> int:
    """How many samples went through a run."""
    counts = [len(array) // tensor.shape[0] for tensor, array in zip(program.outputs, run.outputs, strict=True)]
    return max(counts, default=1)

"""Several inferences, of one or several models, one after the other on one chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.options.inputs import load_inputs, random_inputs
from tilesim.cli.progress import simulating
from tilesim.cli.simulation import naming
from tilesim.errors import InputError
from tilesim.files import Array
from tilesim.machines import SystolicProgram
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import link_programs
from tilesim.tiled.run.host_driver import rows_of_inputs

MOST = 1000
InferencesOption = Annotated[
    int,
    typer.Option(
        "--inferences", "-n", min=1, max=MOST, metavar="N", help="Inferences of each model, the models in turn."
    ),
]


def run_in_turn(
    models: Sequence[str],
    programs: Sequence[Program],
    inferences: int,
    inputs: Path | None,
    keep: bool,
    trace: Recording | None,
    rules: str,
    not_before: Mapping[str, int],
    masters: str,
) -> tuple[Program, Run]:
    """The program of all inferences, and its run. Inference i gets sample i of the file ``inputs``, or of those samples
    over again; else there are random arrays. ``keep``: the program is to be written down, so it must be one that can be
    read again.

    Raises:
        InputError: inputs that do not fit, or programs that the chip could not run, each names its file; a program too
            large to keep.
        RunError: the run can't go on.
    """
    if inputs is not None and len(models) > 1:
        raise InputError("--inputs holds the arrays of one model; leave it out where several are given")
    order = [*range(len(programs))] * inferences
    held = None if inputs is None else load_inputs(inputs, len(programs[0].inputs))
    with naming(", ".join(models), inputs):
        joint = link_programs(programs, order)
        if keep and (found := faults(joint)):
            raise InputError(f"--out keeps the program of all inferences in one piece: {fault}" for fault in found)
        arrays = random_inputs(joint.inputs) if held is None else list(_samples(programs[0], inferences, held))
        given = _by_request([len(programs[number].inputs) for number in order], arrays)
        with simulating(f"{len(order)} inferences on {joint.topology.name}") as on_start:
            run = api.simulate_requests(
                programs,
                given,
                order,
                trace=trace or False,
                rules=rules,
                not_before=not_before,
                on_start=on_start,
                masters=masters,
            )
    return joint, run


def run_batches(
    model: str,
    program: SystolicProgram,
    inferences: int,
    inputs: Path | None,
    trace: Recording | None,
    rules: str,
    not_before: Mapping[str, int],
    masters: str,
) -> Run:
    """A run of all inferences that a systolic machine has batches of; they get samples as in :func:`run_in_turn`.

    Raises:
        InputError: inputs that do not fit, or a program for another number of inferences.
        RunError: the run can't go on.
    """
    if program.inferences != inferences:
        raise InputError(f"{model}: the program is for --inferences {program.inferences}, not {inferences}")
    each = program.inputs[: len(program.inputs) // inferences]
    if inputs is None:
        arrays = random_inputs(program.inputs)
    else:
        held = load_inputs(inputs, len(each))
        arrays = [
            _sample(array, tensor.shape[0], k)
            for k in range(inferences)
            for array, tensor in zip(held, each, strict=True)
        ]
    with naming(model, inputs), simulating(f"{inferences} inferences on {program.topology.name}") as on_start:
        return api.simulate(
            program,
            arrays,
            trace=trace or False,
            rules=rules,
            not_before=not_before,
            on_start=on_start,
            masters=masters,
        )


def _sample(array: Array, size: int, number: int) -> Array:
    """Sample ``number`` of those that an array holds on its first axis, ``size`` long each, over and over again."""
    samples = max(1, len(array) // size) if array.ndim else 1
    first = number % samples * size
    return array[first : first + size] if array.ndim else array


def _samples(program: Program, inferences: int, arrays: Sequence[Array]) -> Iterator[Array]:
    """The arrays of each inference, one after the other."""
    _, samples = rows_of_inputs(program, arrays)
    for k in range(inferences):
        for tensor, array in zip(program.inputs, arrays, strict=True):
            first = k % samples * tensor.shape[0]
            yield array[first : first + tensor.shape[0]]


def _by_request(counts: Sequence[int], arrays: Sequence[Array]) -> list[list[Array]]:
    following = iter(arrays)
    return [[next(following) for _ in range(count)] for count in counts]

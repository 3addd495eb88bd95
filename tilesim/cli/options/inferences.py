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
from tilesim.machines.host import samples_of
from tilesim.machines.program import HostTensor, Program
from tilesim.registry import machine_of
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording

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
    holds: Mapping[str, int],
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
    first = programs[0].inputs_of_inference
    held = None if inputs is None else load_inputs(inputs, len(first))
    with naming(", ".join(models), inputs):
        joint = api.link(programs, order)
        if keep and (faults := machine_of(joint.topology).faults(joint)):
            raise InputError(f"--out keeps the program of all inferences in one piece: {fault}" for fault in faults)
        arrays = random_inputs(joint.inputs) if held is None else list(_samples(first, inferences, held))
        given = _by_request([len(programs[number].inputs_of_inference) for number in order], arrays)
        with simulating(f"{len(order)} inferences on {joint.topology.name}") as on_start:
            run = api.simulate_requests(
                programs,
                given,
                order,
                trace=trace or False,
                rules=rules,
                holds=holds,
                on_start=on_start,
                masters=masters,
            )
    return joint, run


def _samples(tensors: Sequence[HostTensor], inferences: int, arrays: Sequence[Array]) -> Iterator[Array]:
    """The arrays of each inference, one after the other."""
    samples = samples_of(tensors, arrays)
    for k in range(inferences):
        for tensor, array in zip(tensors, arrays, strict=True):
            first = k % samples * tensor.shape[0]
            yield array[first : first + tensor.shape[0]]


def _by_request(counts: Sequence[int], arrays: Sequence[Array]) -> list[list[Array]]:
    following = iter(arrays)
    return [[next(following) for _ in range(count)] for count in counts]

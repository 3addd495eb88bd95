"""A program, run with the user's arrays."""

from __future__ import annotations

from pathlib import Path

from tilesim import api
from tilesim.cli.inputs import load_inputs, random_inputs
from tilesim.cli.progress import progress
from tilesim.errors import ArrayError, ProgramError
from tilesim.run import Run
from tilesim.tiled.isa.program import Program


def simulated(model: str, program: Program, inputs: Path | None, trace: bool = False) -> Run:
    """One inference of ``program``, made from ``model``, with the arrays of the file ``inputs``, or random ones.

    Raises:
        InputError: inputs that do not fit, or an instruction that the chip could not run; each names its file.
        RunError: the run can't go on.
    """
    with progress(f"simulating {program.name} on {program.topology.name}"):
        arrays = random_inputs(program.inputs) if inputs is None else load_inputs(inputs, len(program.inputs))
        try:
            return api.simulate(program, arrays, trace=trace)
        except ArrayError as error:
            raise ArrayError(f"{inputs or model}: {fault}" for fault in error.faults) from None
        except ProgramError as error:
            raise ProgramError(f"{model}: {fault}" for fault in error.faults) from None


def samples(program: Program, run: Run) -> int:
    """How many samples went through a run."""
    counts = [len(array) // tensor.shape[0] for tensor, array in zip(program.outputs, run.outputs, strict=True)]
    return max(counts, default=1)

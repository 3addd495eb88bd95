"""Run a program on the chip it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tilesim.errors import ProgramError
from tilesim.run import Run
from tilesim.sim.recorder import Recorder
from tilesim.tiled import hang, host_driver, statistics
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.instructions import Instruction
from tilesim.tiled.isa.program import Program
from tilesim.tiled.rules.hazards import hazards
from tilesim.tiled.rules.regions import strays
from tilesim.tiled.tensor_watch import TensorWatch
from tilesim.tiled.units.chip import Chip

Array = NDArray[Any]


def simulate(program: Program, inputs: Sequence[Array], keep_tensors: bool = False, trace: bool = False) -> Run:
    """Load the parameters, then run one inference, carrying all samples of ``inputs`` at once.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each of the program's inputs, of the model's dtype and shape; with a first axis k times
            as long, k samples are run.
        keep_tensors: also read every tensor that the program says a place of, when its layer has written it.
        trace: record what every unit does.

    Raises:
        ProgramError: an instruction that the chip could not run.
        ArrayError: inputs that do not fit.
        HangError: the run can't go on.
    """
    found = faults(program) or [*strays(program), *hazards(program)]
    if found:
        raise ProgramError(found)
    program = replace(program, load=_named(program.load, "load"), run=_named(program.run, "run"))
    rows, samples = host_driver.rows_of_inputs(program, inputs)
    recorder = Recorder() if trace else None
    watch = TensorWatch(program, samples)
    chip = Chip(program.topology, samples, recorder, watch.retired if keep_tensors else _forget)
    watch.attach([tile.memories.narrow for tile in chip.tiles])
    chip.fill(program.data)
    start, load_cycles = chip.run(program.load, [])
    hang.refuse(chip, "load", start)
    start, end = chip.run(program.run, rows)
    hang.refuse(chip, "run", start, program.outputs)
    chip.close(end)
    outputs = [
        host_driver.output_array(output, chip.host_outfeed.output(k)) for k, output in enumerate(program.outputs)
    ]
    return Run(
        outputs=outputs,
        cycles=end - start,
        statistics=statistics.document(program, chip, load_cycles, range(start, end), recorder),
        tensors=watch.tensors(outputs) if keep_tensors else {},
        trace=recorder.trace() if recorder else None,
    )


def _forget(_tile: int, _label: str) -> None:
    """Nobody keeps tensors."""


def _named(instructions: tuple[Instruction, ...], section: str) -> tuple[Instruction, ...]:
    return tuple(op if op.label else replace(op, label=f"{section}[{k}]") for k, op in enumerate(instructions))

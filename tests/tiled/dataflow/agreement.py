"""Both engines on one program: the same outputs, and the same run.json, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilesim.machines.host import random_inputs
from tilesim.machines.options import RunOptions
from tilesim.run import Run
from tilesim.tiled.core.build import library
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.simulate import simulate


def _is_made() -> bool:
    try:
        library()
    except NoCompiler:
        return False
    return True


COMPILED = pytest.mark.skipif(not _is_made(), reason="nothing to compile the timing core with")


def inputs_for(program: Program, samples: int = 1) -> list[NDArray[Any]]:
    several = [random_inputs(program.inputs, seed) for seed in range(samples)]
    return [np.concatenate(arrays) for arrays in zip(*several, strict=True)]


def must_agree(program: Program, inputs: Sequence[NDArray[Any]] | None = None) -> Run:
    """The run of the compiled engine."""
    given = inputs_for(program) if inputs is None else inputs
    defined, run = (simulate(program, given, RunOptions(engine=engine)) for engine in ("simpy", "compiled"))
    assert (defined.engine, run.engine, run.note) == ("simpy", "compiled", "")
    assert run.json() == defined.json()
    assert [output.dtype for output in run.outputs] == [output.dtype for output in defined.outputs]
    for one, other in zip(run.outputs, defined.outputs, strict=True):
        np.testing.assert_array_equal(one, other)
    return run

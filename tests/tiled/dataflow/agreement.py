"""Both engines on one program: the same outputs, run.json and trace, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilesim.machines.host import random_inputs
from tilesim.machines.options import RunOptions
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.core import library
from tilesim.tiled.run.simulate import simulate


def is_made() -> bool:
    """Whether there is a core."""
    try:
        library()
    except NoCompiler:
        return False
    return True


NO_HOLDS: Mapping[str, int] = {}
COMPILED = pytest.mark.skipif(not is_made(), reason="nothing to compile the timing core with")


def inputs_for(program: Program, samples: int = 1) -> list[NDArray[Any]]:
    several = [random_inputs(program.inputs, seed) for seed in range(samples)]
    return [np.concatenate(arrays) for arrays in zip(*several, strict=True)]


def must_agree(
    program: Program, inputs: Sequence[NDArray[Any]] | None = None, holds: Mapping[str, int] = NO_HOLDS
) -> Run:
    """The run of the compiled engine, which says the same with its trace and without."""
    given = inputs_for(program) if inputs is None else inputs
    options = [
        RunOptions(engine=engine, recording=Recording(), holds=holds, keep_tensors=True)
        for engine in ("simpy", "compiled")
    ]
    defined, run = (simulate(program, given, each) for each in options)
    must_be_same(run, defined)
    plain = simulate(program, given, RunOptions(engine="compiled", holds=holds))
    assert plain.trace is None
    assert plain.statistics == {**run.statistics, "trace_sha256": None}
    return run


def must_trace_alike(program: Program, recording: Recording) -> Trace:
    """What the compiled engine records."""
    given = inputs_for(program)
    options = [RunOptions(engine=engine, recording=recording) for engine in ("simpy", "compiled")]
    defined, run = (simulate(program, given, each) for each in options)
    must_be_same(run, defined)
    assert run.trace is not None
    return run.trace


def must_be_same(run: Run, defined: Run) -> None:
    """Of the compiled engine and of SimPy, with their traces and tensors: every number and every byte."""
    assert (defined.engine, run.engine, run.note) == ("simpy", "compiled", "")
    assert run.json() == defined.json()
    assert [output.dtype for output in run.outputs] == [output.dtype for output in defined.outputs]
    for one, other in zip(run.outputs, defined.outputs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert run.tensors.keys() == defined.tensors.keys()
    for index, tensor in run.tensors.items():
        assert tensor.dtype == defined.tensors[index].dtype
        np.testing.assert_array_equal(tensor, defined.tensors[index], err_msg=f"tensor {index}")
    assert run.trace is not None
    assert defined.trace is not None
    of_run, of_defined = run.trace.columns(), defined.trace.columns()
    assert {name: column.dtype for name, column in of_run.items()} == {
        name: column.dtype for name, column in of_defined.items()
    }
    for name, column in of_run.items():
        np.testing.assert_array_equal(column, of_defined[name], err_msg=name)

"""Work without the garbage collector, which is as it was behind it."""

import gc

import numpy as np
import pytest

import tilesim
from tilesim.machines.collecting import _let_age, without_collector


def test_it_is_off_meanwhile_and_on_again() -> None:
    assert gc.isenabled()
    with without_collector():
        assert not gc.isenabled()
        with without_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_leaves_it_on() -> None:
    with pytest.raises(ValueError, match="no"), without_collector():
        raise ValueError("no")
    assert gc.isenabled()


def is_young(kept: object) -> bool:
    return any(each is kept for each in gc.get_objects(generation=0))


def test_only_the_first_such_work_makes_what_is_old_at_once() -> None:
    """Modules are not searched for garbage as soon as they are there; what later work makes is, like any other."""
    _let_age.cache_clear()
    for first in (True, False):
        with without_collector():
            kept: list[object] = []
        gc.disable()  # until it has been looked at
        young = is_young(kept)
        gc.enable()
        assert young == (not first)


def test_what_somebody_has_frozen_stays_so() -> None:
    _let_age.cache_clear()
    gc.freeze()
    frozen = gc.get_freeze_count()
    with without_collector():
        pass
    assert gc.get_freeze_count() == frozen > 0
    gc.unfreeze()


def test_many_runs_leave_no_more_behind_than_few() -> None:
    """What refers to itself in a circle is found in time, though it was made without the collector."""
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    left = []
    for _ in range(3):
        for _ in range(10):
            tilesim.simulate(program, inputs)
        left.append(len(gc.get_objects()))
    assert left[2] < left[0] * 1.1


@pytest.mark.parametrize("trace", [False, True])
def test_a_run_of_the_compiled_engine_leaves_nothing_to_the_collector(trace: bool) -> None:
    """Memories of tiles are large: they go with the run that they were of, for nothing in it refers to itself."""
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    if tilesim.simulate(program, inputs, trace=trace).engine != "compiled":
        pytest.skip("there is no compiled engine here")
    gc.collect()
    with without_collector():
        tilesim.simulate(program, inputs, trace=trace)
        assert gc.collect() == 0

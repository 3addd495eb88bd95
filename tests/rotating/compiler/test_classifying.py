"""What the host chooses of a rotating machine's outputs, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.networks import Weave
from tests.rotating.compiler.compiled import exact, small
from tilesim.errors import CapacityError
from tilesim.network.operators import ArgMax, Softmax, TopK
from tilesim.rotating.compiler.compile import compile_network
from tilesim.rotating.isa.checks.program import faults

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
CHOICES = (ArgMax(INT64), TopK(3), TopK(3, INT32))


def test_the_host_chooses_of_each_pixel_and_of_a_vector() -> None:
    weave = Weave()
    map_ = weave.convolution(weave.input(5, 6, 4), 8)
    vector = weave.fully_connected(map_, 10)
    chosen = [weave.add(operator, x) for x in (map_, vector) for operator in CHOICES]
    program, _ = exact(weave.network(*chosen), small(8))
    assert [tensor.function for tensor in program.outputs] == ["argmax", "top_k_values", "top_k_indices"] * 2


def test_it_does_not_choose_of_a_softmax() -> None:
    weave = Weave()
    x = weave.add(Softmax(0.05, 1 / 256, -128, (-128, 127)), weave.convolution(weave.input(5, 6, 4), 8))
    with pytest.raises(CapacityError, match=r"\(softmax\) must stand at an input or an output of the network"):
        compile_network(weave.network(weave.add(ArgMax(INT64), x)), small(8))


def test_a_choice_without_a_meaning_is_a_fault() -> None:
    weave = Weave()
    program = compile_network(weave.network(weave.add(TopK(3), weave.convolution(weave.input(5, 6, 4), 8))), small(8))
    (output,) = program.outputs
    assert faults(program) == []
    (sentence,) = faults(replace(program, outputs=(replace(output, scaling=(9,)),)))[:1]
    assert "scaling must choose from 1 to 8 for top_k_values, not 9" in sentence
    wrong = faults(replace(program, outputs=(replace(output, function="argmax", scaling=()),)))
    assert any("dtype must be int32, or int64, or float32 with a scale, not int8" in fault for fault in wrong)
    assert any("layout must have 90 elements, as shape has, not 30" in fault for fault in wrong)

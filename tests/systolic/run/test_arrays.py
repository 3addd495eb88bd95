"""Model arrays on their way to the chip and back, one sample or several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.systolic.handmade import Listing, dense, product, some, topology
from tilesim import simulate
from tilesim.errors import ArrayError
from tilesim.machines.host import received
from tilesim.systolic.isa.model.instructions import Copy, Nest, Queue, ReadHostMemory, WriteHostMemory
from tilesim.systolic.isa.model.program import HostTensor, Program, TensorPlace
from tilesim.systolic.run.simulate import bytes_of_inputs

IMAGE = HostTensor("x", 3, "int8", (1, 2, 3, 4), (0, 3, 1, 2), "int8")
"""Channels first in the model: 2 channels, 3 by 4."""


def through(tensor_in: HostTensor, tensor_out: HostTensor, keep: bool = False) -> Program:
    """Brings an input and sends it back."""
    size, listing = tensor_in.bytes, Listing()
    listing.add(ReadHostMemory(bytes=size))
    listing.sync(Queue.VECTOR, Queue.DMA_IN, 1)
    listing.add(Copy(source=Nest(0, size), destination=Nest(4096, size), label="copy"))
    listing.sync(Queue.DMA_OUT, Queue.VECTOR, 2)
    listing.add(WriteHostMemory(address=4096, bytes=size))
    places = (TensorPlace(3, "x", 0, "copy", 4096, (1, 3, 4, 2), (0, 3, 1, 2), "int8"),) if keep else ()
    return Program("through", topology(), (), listing.halt(), (), (tensor_in,), (tensor_out,), tensors=places)


def test_the_link_carries_channels_last() -> None:
    x = some((2, 2, 3, 4))
    sent, samples = bytes_of_inputs(through(IMAGE, IMAGE), [x])
    assert samples == 2
    np.testing.assert_array_equal(sent[0].view(np.int8), x.transpose(0, 2, 3, 1).reshape(2, -1))
    np.testing.assert_array_equal(received(IMAGE, sent[0].view(np.int8)), x)


def test_samples_go_through_at_once() -> None:
    x, w = some((9, 5)), some((5, 6), seed=1)
    program = dense(topology(), w, 3)
    run = simulate(program, [x])
    assert run.cycles == simulate(program, [x[:3]]).cycles
    np.testing.assert_array_equal(run.outputs[0], product(x, w))


def test_tensors_are_read_out_when_their_layer_has_written_them() -> None:
    program = through(IMAGE, replace(IMAGE, index=4), keep=True)
    x = some((2, 2, 3, 4))
    run = simulate(program, [x], keep_tensors=True)
    assert sorted(run.tensors) == [3, 4]
    np.testing.assert_array_equal(run.tensors[3], x)
    np.testing.assert_array_equal(run.tensors[4], run.outputs[0])
    assert simulate(program, [x]).tensors == {}


@pytest.mark.parametrize(("rounding", "expected"), [("even", [0, 2, 2, -2]), ("away", [1, 2, 3, -3])])
def test_floats_are_quantised_at_the_host(rounding: str, expected: list[int]) -> None:
    real = HostTensor("x", 0, "float32", (4,), (0,), "int8", 0.5, 1, rounding)
    x = np.array([0.25, 0.75, 1.25, -1.25], np.float32)
    run = simulate(through(real, replace(real, index=1)), [x])
    np.testing.assert_array_equal(run.outputs[0], np.array(expected, np.float32) * np.float32(0.5))


def test_an_output_is_looked_up_at_the_host() -> None:
    whole = HostTensor("x", 0, "int8", (3,), (0,), "int8")
    table = tuple(k // 2 for k in range(256))
    x = np.array([4, 9, -2], np.int8)
    found = simulate(through(whole, replace(whole, dtype="uint8", lookup=table)), [x]).outputs[0]
    assert (found.dtype, found.tolist()) == (np.uint8, [2, 4, 127])


@pytest.mark.parametrize(("arrays", "sentence"), [
    ([], "inputs must be 1 array, not 0"),
    ([np.zeros((1, 2, 3, 4), np.uint8)], "input 'x' must be of dtype int8, not uint8"),
    ([np.zeros((1, 2, 3, 5), np.int8)], "input 'x' must be of shape 1 x 2 x 3 x 4, or hold several samples"),
    ([np.zeros((), np.int8)], "not a single number"),
])  # fmt: skip
def test_wrong_inputs_are_refused_in_a_sentence(arrays: list[np.ndarray], sentence: str) -> None:
    with pytest.raises(ArrayError, match=sentence):
        simulate(through(IMAGE, IMAGE), arrays)


def test_inputs_must_agree_on_the_number_of_samples() -> None:
    program = replace(through(IMAGE, IMAGE), inputs=(IMAGE, replace(IMAGE, name="z")))
    with pytest.raises(ArrayError, match=r"the same number of samples, not \[1, 2\]"):
        simulate(program, [some((1, 2, 3, 4)), some((2, 2, 3, 4))])

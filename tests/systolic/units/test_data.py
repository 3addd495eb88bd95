"""The host's tensors: what is read from them, what has come back."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.errors import AccessError
from tilesim.machines.program import DataSegment
from tilesim.systolic.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.systolic.units.data import HostMemory


def host() -> HostMemory:
    inputs = [np.arange(20, dtype=np.uint8).reshape(2, 10)]
    return HostMemory(inputs, [DataSegment("w", np.arange(50, 56, dtype=np.uint8))], [4, 3], samples=2)


def test_inputs_are_of_each_sample_and_parameters_of_all() -> None:
    assert host().read(ReadHostMemory(offset=3, bytes=2)).tolist() == [[3, 4], [13, 14]]
    assert host().read(ReadHostMemory(source="data", offset=4, bytes=2)).tolist() == [[54, 55]]


def test_what_is_missing() -> None:
    memory = host()
    memory.write(WriteHostMemory(tensor=0, offset=1, bytes=2), np.full((2, 2), 9, np.uint8))
    memory.write(WriteHostMemory(tensor=0, offset=2, bytes=1), np.full((2, 1), 8, np.uint8))
    assert memory.missing() == [(0, 2, 4), (1, 0, 3)]
    assert memory.outputs[0].tolist() == [[0, 9, 8, 0]] * 2


@pytest.mark.parametrize(("op", "sentence"), [
    (ReadHostMemory(label="r", tensor=1, bytes=1), "r: the host's input must be a number below 1, not 1"),
    (ReadHostMemory(label="r", offset=8, bytes=3), "r: the host's tensor has bytes 0 to 9, not 8 to 10"),
])  # fmt: skip
def test_what_the_host_does_not_have(op: ReadHostMemory, sentence: str) -> None:
    with pytest.raises(AccessError, match=sentence):
        host().read(op)
    with pytest.raises(AccessError, match="w: the host's output must be a number below 2, not 2"):
        host().write(WriteHostMemory(label="w", tensor=2, bytes=1), np.zeros((2, 1), np.uint8))

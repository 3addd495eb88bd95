"""The host sends rows of inputs, data and scratches, and knows which rows of its outputs have not come."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.machines.program import DataSegment
from tilesim.rotating.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.rotating.units.host_memory import HostMemory
from tilesim.sim.core.memory import Bytes

ROW_BYTES = 4


def rows(samples: int, count: int, first: int = 0) -> Bytes:
    return (first + np.arange(samples * count * ROW_BYTES, dtype=np.uint8)).reshape(samples, count, ROW_BYTES)


@pytest.fixture(name="host")
def _host() -> HostMemory:
    data = [DataSegment("weights", rows(1, 3, 100).reshape(-1)), DataSegment("more", rows(1, 2, 200).reshape(-1))]
    return HostMemory([rows(2, 3), rows(2, 1, 50)], data, [2, 3], ROW_BYTES)


def test_an_inputs_rows_are_those_of_each_sample(host: HostMemory) -> None:
    assert host.samples == 2
    assert host.row(ReadHostMemory(offset=1, rows=2), 1).tolist() == [[8, 9, 10, 11], [20, 21, 22, 23]]
    assert host.row(ReadHostMemory(tensor=1), 0).tolist() == [[50, 51, 52, 53], [54, 55, 56, 57]]


def test_data_are_the_same_for_all_samples(host: HostMemory) -> None:
    assert host.row(ReadHostMemory(source="data", offset=1, rows=2), 1).tolist() == [[108, 109, 110, 111]]
    assert host.row(ReadHostMemory(source="data", tensor=1), 0).tolist() == [[200, 201, 202, 203]]


def test_without_inputs_there_is_one_sample() -> None:
    assert HostMemory([], [], [], ROW_BYTES).samples == 1


def test_a_scratch_gives_back_what_it_was_given_last(host: HostMemory) -> None:
    row = rows(2, 1)[:, 0]
    host.take(WriteHostMemory(destination="scratch", tensor=3, offset=7, rows=2), 1, row)
    row[...] = 0  # what the chip does with its row afterwards is no matter
    read = ReadHostMemory(source="scratch", tensor=3, offset=8)
    assert host.row(read, 0).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    host.take(WriteHostMemory(destination="scratch", tensor=3, offset=8), 0, row)
    assert not host.row(read, 0).any()


def test_outputs_that_have_not_come_as_a_whole_are_missing(host: HostMemory) -> None:
    assert host.missing() == [(0, 0, 2), (1, 0, 3)]
    host.take(WriteHostMemory(tensor=1, offset=2), 0, rows(2, 1)[:, 0])
    host.take(WriteHostMemory(tensor=1, offset=2), 0, rows(2, 1, 9)[:, 0])  # twice the same: it is one row
    assert host.missing() == [(0, 0, 2), (1, 1, 3)]
    assert host.outputs[1][:, 2].tolist() == rows(2, 1, 9)[:, 0].tolist()
    for number in range(2):
        host.take(WriteHostMemory(tensor=0, rows=2), number, rows(2, 1)[:, 0])
        host.take(WriteHostMemory(tensor=1, rows=2), number, rows(2, 1)[:, 0])
    assert host.missing() == []

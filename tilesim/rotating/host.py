"""The host's side of a run: inputs as the rows that cross its link, outputs from those that come back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.classify import classified
from tilesim.machines.host import carried, received
from tilesim.rotating.isa.model.program import HostTensor
from tilesim.rotating.layout import rows_of, values_of
from tilesim.rotating.topology import Topology
from tilesim.sim.core.memory import Bytes

Array = NDArray[Any]


def rows_of_input(tensor: HostTensor, array: Array, topology: Topology) -> Bytes:
    """The rows (samples, rows, row bytes) of a model input, of one or more samples."""
    layout, values = tensor.layout, carried(tensor, array)
    return rows_of(values.reshape(-1, layout.height, layout.width, layout.depth), layout, topology)


def output_of_rows(tensor: HostTensor, rows: Bytes, topology: Topology) -> Array:
    """The model output whose rows (samples, rows, row bytes) have come."""
    values = values_of(rows, tensor.layout, topology, tensor.carried)
    if tensor.function:
        values = classified(tensor.function, values, tensor.scaling)
    return received(tensor, values.reshape(len(rows), -1))

"""The golden result: every tensor of a network, computed operator by operator."""

from __future__ import annotations

from tilesim.errors import ArrayError
from tilesim.network.graph import Array, Network, Tensor


def evaluate(network: Network, inputs: list[Array]) -> dict[int, Array]:
    """Every tensor of ``network`` by index, constants included, in the canonical layout.

    Args:
        network: what to compute.
        inputs: one canonical array for each of ``network.inputs``; the first axis may hold several samples.

    Raises:
        ArrayError: inputs whose number, shape or dtype is not the network's.
    """
    _check(network, inputs)
    values = {index: tensor.data for index, tensor in network.tensors.items() if tensor.data is not None}
    values.update(zip(network.inputs, inputs, strict=True))
    for node in network.nodes:
        values[node.output] = node.operator.evaluate([values[index] for index in node.inputs])
    return values


def _check(network: Network, inputs: list[Array]) -> None:
    if len(inputs) != len(network.inputs):
        raise ArrayError(f"{network.name}: takes {len(network.inputs)} inputs, not {len(inputs)}")
    tensors = [network.tensors[index] for index in network.inputs]
    faults = [fault for pair in zip(tensors, inputs, strict=True) if (fault := _fault(*pair))]
    if faults:
        raise ArrayError(faults)


def _fault(tensor: Tensor, array: Array) -> str:
    if array.dtype != tensor.dtype:
        return f"input {tensor.title}: must be {tensor.dtype}, not {array.dtype}"
    if array.ndim != len(tensor.shape) or array.shape[1:] != tensor.shape[1:]:
        return f"input {tensor.title}: must have shape {list(tensor.shape)}, not {list(array.shape)}"
    return ""

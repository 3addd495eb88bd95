"""What the host's driver has to know of a network's inputs and outputs."""

from __future__ import annotations

from tilesim.lowering.operator_plan import NetworkInput, NetworkOutput
from tilesim.network.graph import Tensor
from tilesim.systolic.compiler.task import element_of
from tilesim.systolic.isa.model.program import HostTensor


def host_input(source: NetworkInput, inference: int) -> HostTensor:
    step = source.quantise
    if step is None:
        return _host_tensor(source.model, source.stored, inference)
    return _host_tensor(source.model, source.stored, inference, step.scale, step.zero_point, step.rounding)


def host_output(sink: NetworkOutput, inference: int) -> HostTensor:
    step = sink.dequantise
    if step is None:
        return _host_tensor(sink.model, sink.stored, inference)
    return _host_tensor(sink.model, sink.stored, inference, step.scale, step.zero_point)


def _host_tensor(
    model: Tensor, stored: Tensor, inference: int, scale: float = 0.0, zero_point: int = 0, rounding: str = "even"
) -> HostTensor:
    return HostTensor(
        name=model.name,
        index=model.index,
        dtype=str(model.dtype),
        shape=model.model_shape,
        axes=axes_of(model),
        element=element_of(stored.dtype),
        scale=scale,
        zero_point=zero_point,
        rounding=rounding,
        inference=inference,
    )


def axes_of(tensor: Tensor) -> tuple[int, ...]:
    return tensor.model_axes or tuple(range(len(tensor.shape)))

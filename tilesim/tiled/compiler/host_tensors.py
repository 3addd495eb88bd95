"""What the host's driver has to know of a network's inputs and outputs."""

from __future__ import annotations

from typing import Any

from tilesim.network.graph import Tensor
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.outline import Sink, Source
from tilesim.tiled.compiler.rows import rows_for
from tilesim.tiled.compiler.task import element_type
from tilesim.tiled.isa.program import HostTensor


def host_input(source: Source, map_: FeatureMap, row_bytes: int) -> HostTensor:
    step, stored = source.quantise, source.stored.quantisation
    return _host_tensor(
        source.model,
        source.stored,
        map_,
        row_bytes,
        pad=stored.zero_point if stored else 0,
        scale=step.scale if step else 0.0,
        zero_point=step.zero_point if step else 0,
        rounding=step.rounding if step else "even",
    )


def host_output(sink: Sink, map_: FeatureMap, row_bytes: int) -> HostTensor:
    step = sink.dequantise
    scale, zero_point = (step.scale, step.zero_point) if step else (0.0, 0)
    return _host_tensor(sink.model, sink.stored, map_, row_bytes, scale=scale, zero_point=zero_point)


def _host_tensor(model: Tensor, stored: Tensor, map_: FeatureMap, row_bytes: int, **conversion: Any) -> HostTensor:
    flattened = model.shape[-1] != stored.shape[-1]
    return HostTensor(
        name=model.name,
        index=model.index,
        dtype=str(model.dtype),
        shape=model.model_shape,
        axes=axes_of(model),
        element=str(element_type(stored.dtype)),
        pixel_bytes=model.shape[-1] if flattened else map_.pixel_bytes,
        rows=rows_for(map_, row_bytes),
        **conversion,
    )


def axes_of(tensor: Tensor) -> tuple[int, ...]:
    return tensor.model_axes or tuple(range(len(tensor.shape)))

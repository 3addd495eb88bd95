"""What readers build a network in: tensors so far, constants they derive, and sentences about what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.budgets import LARGEST_CONSTANTS_BYTES, MOST_CHANNELS
from tilesim.errors import ModelError
from tilesim.network.graph import Array, Network, Node, Operator, Quantisation, Tensor
from tilesim.network.operators.top_k import TopK
from tilesim.network.operators.windows import Padding, output_size
from tilesim.network.readers.fault import wrong_type
from tilesim.units import format_bytes

MAX_ELEMENTS = 1 << 28
"""Elements that one map may have, padding included: what a damaged file asks for beyond is refused, not allocated."""

LARGEST_SCALE = 1e30
"""What a sum of reals may be without leaving float32: no real model comes near."""

ACTIVATION_DTYPES = (np.dtype(np.int8), np.dtype(np.uint8))
WIDE_DTYPES = (*ACTIVATION_DTYPES, np.dtype(np.int16))
INTEGER_DTYPES = (*WIDE_DTYPES, np.dtype(np.int32), np.dtype(np.int64))
SYMMETRIC_DTYPES = (np.dtype(np.int16), np.dtype(np.int32))
"""Those whose zero point is always 0."""


@dataclass(frozen=True)
class Built:
    """An operator with its inputs' indices, and the shape that it makes."""

    operator: Operator
    inputs: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass
class NetworkBuilder:
    """Tensors by index while a file is read."""

    tensors: dict[int, Tensor]
    first_free: int = 0
    """Constants that the file does not hold in this form are numbered from here."""
    nodes: list[Node] = field(default_factory=list)
    constant_bytes: int = 0
    """Of those that were added."""

    def __post_init__(self) -> None:
        self.first_free = max(self.first_free, *self.tensors, 0)

    def constant(self, name: str, data: Array, like: Tensor | None = None) -> int:
        """Add a constant that the file does not hold in this form, of the quantisation of another; its index is a new
        one.
        """
        self.constant_bytes += data.nbytes
        must_be_bearable(self.constant_bytes)
        index = self._free_index()
        self.tensors[index] = Tensor(index, name, data.dtype, data.shape, like.quantisation if like else None, data)
        return index

    def between(
        self, name: str, operator: Operator, source: int, known: Quantisation | None, shape: tuple[int, ...] = ()
    ) -> int:
        """Add a node that the file does not hold, which gives the tensor ``source`` another quantisation, or ``shape``
        of as many axes.
        """
        index, like = self._free_index(), self.tensors[source]
        made = replace(like, index=index, name=name, quantisation=known, data=None, shape=shape or like.shape)
        self.tensors[index] = made
        self.nodes.append(Node(name, operator, (source,), index))
        return index

    def derived(self, name: str, operator: Operator, source: Tensor, shape: tuple[int, ...]) -> Tensor:
        """What an operator that only moves numbers makes of a tensor: that of a node that the file does not hold, or of
        a constant another one.
        """
        if source.data is not None:
            return self.tensors[self.constant(name, operator.evaluate([source.data]).reshape(shape), source)]
        index = self.placed(name, source, shape)
        self.nodes.append(Node(name, operator, (source.index,), index))
        return self.tensors[index]

    def placed(self, name: str, like: Tensor, shape: tuple[int, ...]) -> int:
        """Add a tensor that the file does not hold, of another one's numbers."""
        index = self._free_index()
        self.tensors[index] = replace(like, index=index, name=name, shape=shape, data=None, model_axes=None)
        return index

    def folded(self, index: int, built: Built) -> bool:
        """Make a constant of what is made of constants alone, if it is."""
        sources = [self.tensors[i].data for i in built.inputs]
        if any(data is None for data in sources):
            return False
        must_be_bearable(self.constant_bytes + prod(built.shape) * self.tensors[index].dtype.itemsize)
        data = built.operator.evaluate([data for data in sources if data is not None]).reshape(built.shape)
        self.constant_bytes += data.nbytes
        must_be_bearable(self.constant_bytes)
        self.tensors[index] = replace(self.tensors[index], data=data)
        return True

    def _free_index(self) -> int:
        self.first_free += 1
        return self.first_free

    def activation(self, index: int, dtypes: Sequence[np.dtype[Any]] = ACTIVATION_DTYPES) -> tuple[Tensor, float, int]:
        """A tensor of one of the types with its scale and zero point."""
        tensor = self.tensors[index]
        if tensor.dtype not in dtypes:
            *first, last = (dtype.name for dtype in dtypes)
            raise wrong_type(f"{tensor.title} must be {', '.join(first)} or {last}", tensor.dtype.name)
        if tensor.quantisation is None or tensor.quantisation.scale.ndim:
            raise ModelError(f"{tensor.title} must have one scale and one zero point")
        zero_point = tensor.quantisation.zero_point
        if zero_point and tensor.dtype in SYMMETRIC_DTYPES:
            raise ModelError(f"{tensor.title} must have zero point 0, as all of {tensor.dtype}, not {zero_point}")
        return tensor, float(tensor.quantisation.scale), zero_point

    def weights(self, index: int, rank: int, channels_axis: int) -> tuple[Array, NDArray[np.float64], int]:
        """A constant's data, its scales (one, or one a channel) and its zero point."""
        tensor = self.tensors[index]
        if tensor.data is None:
            raise ModelError(f"weights {tensor.title} must be a constant")
        if tensor.dtype not in ACTIVATION_DTYPES or tensor.quantisation is None:
            raise wrong_type(f"weights {tensor.title} must be quantised int8 or uint8", tensor.dtype.name)
        if len(tensor.shape) != rank:
            raise ModelError(f"weights {tensor.title} must have {rank} axes, not shape {list(tensor.shape)}")
        if tensor.shape[channels_axis] > MOST_CHANNELS:
            raise ModelError(f"weights {tensor.title} must have at most {MOST_CHANNELS} channels")
        scales = np.atleast_1d(tensor.quantisation.scale)
        if scales.size not in {1, tensor.shape[channels_axis]}:
            channels = tensor.shape[channels_axis]
            raise ModelError(f"weights {tensor.title} must have 1 or {channels} scales, not {scales.size}")
        return tensor.data, scales, tensor.quantisation.zero_point

    def network(self, name: str, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Network:
        """The finished network, with only the tensors that it uses, and of a TopK only what is wanted."""
        wanted = {*outputs, *(i for node in self.nodes for i in node.inputs)}
        nodes = tuple(node for node in self.nodes if node.output in wanted or not isinstance(node.operator, TopK))
        used = {*inputs, *outputs, *(i for node in nodes for i in (*node.inputs, node.output))}
        tensors = {index: self.tensors[index] for index in sorted(used)}
        return Network(name, tensors, nodes, inputs, outputs)


def must_be_bearable(constant_bytes: int) -> None:
    """Refuse constants that are larger in all than a network's: any number of operators may read the same one."""
    if constant_bytes > LARGEST_CONSTANTS_BYTES:
        most = format_bytes(LARGEST_CONSTANTS_BYTES)
        raise ModelError(f"its operators must read at most {most} of constants, not {format_bytes(constant_bytes)}")


def quantisation(scales: NDArray[Any], zero_points: NDArray[Any], dtype: np.dtype[Any]) -> Quantisation:
    """A checked quantisation: scales above 0 and sensible, one zero point for all, in the range of ``dtype``."""
    with np.errstate(invalid="ignore"):  # a signalling NaN, which is refused below
        scales = np.asarray(scales, np.float64)
    if not ((scales > 0) & (scales < LARGEST_SCALE)).all():
        actual = f"{scales.min():g}" if scales.size == 1 else f"{scales.min():g} to {scales.max():g}"
        raise ModelError(f"its scales must be above 0 and below {LARGEST_SCALE:g}, not {actual}")
    different = {*np.asarray(zero_points).ravel().tolist()}
    if len(different) > 1:
        raise ModelError(f"it must have the same zero point in all channels, not {len(different)} different ones")
    zero_point = int(next(iter(different), 0))
    limits = np.iinfo(dtype)
    if not limits.min <= zero_point <= limits.max:
        raise ModelError(f"its zero point must be in the range of {dtype}, not {zero_point}")
    return Quantisation(scales.reshape(()) if scales.size == 1 else scales.ravel(), zero_point)


@dataclass(frozen=True)
class SlidingWindow:
    """How a window moves over a map, and the (1, H', W') that it makes."""

    size: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    shape: tuple[int, int, int]


def sliding_window(
    tensor: Tensor,
    size: tuple[int, int],
    strides: tuple[int, int],
    padding: Padding,
    dilations: tuple[int, int] = (1, 1),
) -> SlidingWindow:
    """A window over a map, checked to be sensible."""
    if len(tensor.shape) != 4:
        raise ModelError(f"{tensor.title} must be a map of 4 axes, not of shape {list(tensor.shape)}")
    if min(*size, *strides, *dilations) < 1:
        raise ModelError(f"window {size}, strides {strides} and dilations {dilations} must be at least 1")
    if min(padding) < 0:
        raise ModelError(f"padding must not be negative, not {tuple(padding)}")
    n, height, width, channels = tensor.shape
    rows, columns = output_size((height, width), size, strides, padding, dilations)
    if rows < 1 or columns < 1:
        raise ModelError(f"a window of {size} must fit into {tensor.title} of shape {list(tensor.shape)}")
    padded = (height + padding.top + padding.bottom) * (width + padding.left + padding.right) * channels
    if padded > MAX_ELEMENTS or rows * columns * channels * prod(size) > MAX_ELEMENTS * 16:
        raise ModelError(f"{tensor.title} with padding {tuple(padding)} must have at most {MAX_ELEMENTS} elements")
    return SlidingWindow(size, strides, padding, dilations, (n, rows, columns))


def broadcast(a: Tensor, b: Tensor) -> tuple[int, ...]:
    """The shape of an element-wise result."""
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ModelError(f"shapes {list(a.shape)} of {a.title} and {list(b.shape)} of {b.title} must agree") from None
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(f"must make at most {MAX_ELEMENTS} elements, not shape {list(shape)}")
    return shape


def first_of(tensor: Tensor) -> int:
    """The length of its first axis, 0 of a constant."""
    return 0 if tensor.data is not None else tensor.shape[0]

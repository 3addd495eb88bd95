"""What is computed: tensors and the operators between them, in one canonical layout.

Activations are channels-last (NHWC) whatever the file says; :meth:`Tensor.to_model` and :meth:`Tensor.from_model`
convert at the edge. A network is immutable and knows nothing of any machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.printable import html_table, printable
from tilesim.units import format_bytes

Array: TypeAlias = NDArray[Any]


LONGEST_TITLE = 60


def titled(name: str) -> str:
    """A name short enough for a sentence: of several that were fused into one, the first; of a long one, both ends."""
    first, *others = name.split(";")
    half = LONGEST_TITLE // 2 - 2
    short = first if len(first) <= LONGEST_TITLE else f"{first[:half]}...{first[-half:]}"
    return f"{short};..." if others else short


@dataclass(frozen=True)
class Quantisation:
    """How integers stand for reals: ``real = scale * (q - zero_point)``.

    ``scale`` is float64 exactly as the file's float32 said, of shape ``()`` or, per channel, ``(channels,)``;
    ``zero_point`` an int.
    """

    scale: NDArray[np.float64]
    zero_point: int


@dataclass(frozen=True)
class Tensor:
    """A value of the network. ``index`` is the model file's own; ``shape`` is canonical; constants carry ``data``."""

    index: int
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    quantisation: Quantisation | None = None
    data: Array | None = field(default=None, repr=False)
    model_axes: tuple[int, ...] | None = None
    """Model axis k is canonical axis ``model_axes[k]`` (NCHW: ``(0, 3, 1, 2)``); None where they agree."""

    @property
    def title(self) -> str:
        """The name, cut for a sentence."""
        return titled(self.name)

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.shape if self.model_axes is None else tuple(self.shape[axis] for axis in self.model_axes)

    def to_model(self, array: Array) -> Array:
        """A canonical array as the model file lays it out (leading extra axes are kept)."""
        return array if self.model_axes is None else np.transpose(array, self.model_axes)

    def from_model(self, array: Array) -> Array:
        return array if self.model_axes is None else np.transpose(array, np.argsort(self.model_axes))


class Operator(Protocol):
    """A golden operator: exact arithmetic on whole canonical arrays. One a file in ``operators/``."""

    def evaluate(self, inputs: list[Array]) -> Array: ...


@dataclass(frozen=True)
class Node:
    """One operator applied to tensors, named as the model names it. ``hints`` are what the file says of how it is to
    run: words for machines, of which a network knows nothing.
    """

    name: str
    operator: Operator
    inputs: tuple[int, ...]
    output: int
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name, cut for a sentence."""
        return titled(self.name)

    @property
    def kind(self) -> str:
        """The operator's name in lower case, e.g. ``convolution``."""
        return type(self.operator).__name__.lower()


@dataclass(frozen=True, repr=False)
class Network:
    """A quantised network, as :func:`tilesim.load_network` reads it."""

    name: str
    """What its file calls it, or the file's own name."""
    tensors: dict[int, Tensor]
    """Activations and constants, by the model file's own numbers."""
    nodes: tuple[Node, ...]
    """Its layers, in an order in which each input is ready before it is used."""
    inputs: tuple[int, ...]
    """The numbers of the tensors that it takes."""
    outputs: tuple[int, ...]
    """The numbers of the tensors that it gives."""
    notes: tuple[str, ...] = ()
    """What its reader has to say of it: which operators were cut off, for example."""

    def evaluate(self, inputs: Array | Sequence[Array]) -> dict[int, Array]:
        """The golden results: every tensor by its number, constants included, computed operator by operator without any
        machine. What a chip computes must be the same bits.

        Args:
            inputs: an array for each of :attr:`inputs`, or the only one, channels last (:meth:`Tensor.from_model` makes
                it so). Its first axis may hold any number of samples.

        Raises:
            ArrayError: inputs whose number, shape or dtype is not the network's.
        """
        arrays = [inputs] if isinstance(inputs, np.ndarray) else inputs
        if len(arrays) != len(self.inputs):
            raise ArrayError(f"{self.name}: takes {len(self.inputs)} inputs, not {len(arrays)}")
        taken = [self.tensors[index] for index in self.inputs]
        if faults := [fault for pair in zip(taken, arrays, strict=True) if (fault := _input_fault(*pair))]:
            raise ArrayError(faults)
        values = {index: tensor.data for index, tensor in self.tensors.items() if tensor.data is not None}
        values.update(zip(self.inputs, arrays, strict=True))
        for node in self.nodes:
            values[node.output] = node.operator.evaluate([values[index] for index in node.inputs])
        return values

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(macs(self, node) for node in self.nodes)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(tensor.data.nbytes for tensor in self.tensors.values() if tensor.data is not None)

    def __repr__(self) -> str:
        return f"<Network {self._summary}>"

    def _repr_html_(self) -> str:
        """Its layers, for a notebook."""
        outputs = [self.tensors[node.output] for node in self.nodes]
        rows = (
            (k, node.title, node.kind, " x ".join(map(str, output.shape)), output.dtype, macs(self, node))
            for k, (node, output) in enumerate(zip(self.nodes, outputs, strict=True))
        )
        return html_table(self._summary, ("", "layer", "kind", "output", "type", "MACs"), rows)

    @property
    def _summary(self) -> str:
        sizes = f"{len(self.nodes)} layers, {self.macs:,} MACs, {format_bytes(self.parameter_bytes)} of parameters"
        return f"{printable(titled(self.name))}: {sizes}"


def _input_fault(tensor: Tensor, array: Array) -> str:
    if array.dtype != tensor.dtype:
        return f"input {tensor.title}: must be {tensor.dtype}, not {array.dtype}"
    if array.dtype.kind == "f" and np.isnan(array).any():
        return f"input {tensor.title}: must hold numbers, not NaN"
    if array.ndim != len(tensor.shape) or array.shape[1:] != tensor.shape[1:]:
        return f"input {tensor.title}: must have shape {list(tensor.shape)}, not {list(array.shape)}"
    return ""


def macs(network: Network, node: Node) -> int:
    """Multiply-accumulates of one node: operators that have weights count them as often as they are used."""
    count = getattr(node.operator, "macs", None)
    return 0 if count is None else int(count([network.tensors[i] for i in node.inputs], network.tensors[node.output]))

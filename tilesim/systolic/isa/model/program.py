"""A program: instructions for one systolic machine, the parameters they move, and the host's inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from tilesim.machines import program
from tilesim.systolic.isa.model.instructions import Element, Instruction
from tilesim.systolic.topology import Topology

Place = Literal["array", "vector", "host", "nowhere"]


@dataclass(frozen=True)
class HostTensor(program.HostTensor):
    """One of the host's tensors of an ``inference``."""

    element: Element
    scale: float = 0.0
    zero_point: int = 0
    rounding: str = "even"
    lookup: tuple[int, ...] = ()
    inference: int = 0

    @property
    def bytes(self) -> int:
        """Of it, as the link carries it."""
        return prod(self.shape) * self.carried.itemsize


@dataclass(frozen=True)
class Layer(program.Layer):
    """``place`` says where a layer runs; ``macs`` are those of one inference. On the array, a run sends ``vectors``
    vectors of ``inputs`` activations an inference through it for ``outputs`` outputs (a depthwise layer: of each group
    of channels, ``groups`` in all).
    """

    place: Place = "array"
    vectors: int = 0
    inputs: int = 0
    outputs: int = 0
    groups: int = 1


@dataclass(frozen=True)
class TensorPlace:
    """Where a model tensor of an ``inference`` stands, contiguous, channels last, once the instruction ``after`` has
    retired. ``shape`` is canonical.
    """

    index: int
    name: str
    inference: int
    after: str
    address: int
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Step:
    """``count`` inferences of a ``layer``, from number ``first`` on, that use its weights while these are there.

    ``label`` is that of the last instruction of the step; ``buffer_bytes`` what the unified buffer holds while it runs.
    """

    layer: int
    first: int
    count: int
    label: str = ""
    buffer_bytes: int = 0


@dataclass(frozen=True)
class Prediction:
    """The cycles that a ``schedule`` was said to take."""

    schedule: str
    cycles: int


@dataclass(frozen=True)
class Batching:
    """How inferences were put together: the ``schedule`` (``none``, ``demand`` or ``lcm``), the weight-reuse value, for
    each layer of the program its batch size (0: it has no weights), and the steps, in order. If nobody asked for the
    schedule, ``predicted`` are those that it was chosen from.
    """

    schedule: str
    weight_reuse: float
    batches: tuple[int, ...]
    steps: tuple[Step, ...]
    predicted: tuple[Prediction, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Program(program.Program):
    """A program for a systolic machine, of one network."""

    topology: Topology
    load: tuple[Instruction, ...]
    run: tuple[Instruction, ...]
    inputs: tuple[HostTensor, ...] = ()
    outputs: tuple[HostTensor, ...] = ()
    layers: tuple[Layer, ...] = ()
    tensors: tuple[TensorPlace, ...] = ()
    """The model's tensors that can be read out, and where they lie."""
    inferences: int = 1
    """Of how many inferences the inputs are."""
    batching: Batching | None = None
    """Its batches, if it was made for a plan of them."""

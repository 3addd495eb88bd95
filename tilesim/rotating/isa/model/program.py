"""A program: instructions for one rotating machine, the rows they move, and the host's inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilesim.machines import program
from tilesim.rotating.isa.model.instructions import Instruction
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class Stripe:
    """Columns of a map that stand together: ``columns`` of them from ``first_column`` on.

    A line of them has a row for each entry of ``channels``, which says of each block the channel that it holds (-1:
    none). Word x of block b is word ``(offset + b * block + x) mod units`` of the row.
    """

    first_column: int
    columns: int
    block: int
    offset: int
    channels: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layout:
    """How a map of ``height`` lines, ``width`` columns and ``depth`` channels stands in rows: line by line, stripe by
    stripe. Words that hold no element are ``fill``.
    """

    height: int
    width: int
    depth: int
    stripes: tuple[Stripe, ...]
    fill: int = 0

    @cached_property
    def line_rows(self) -> int:
        """Rows of a line."""
        return sum(len(stripe.channels) for stripe in self.stripes)

    @property
    def rows(self) -> int:
        return self.height * self.line_rows


@dataclass(frozen=True)
class HostTensor(program.HostTensor):
    """One of the host's tensors, which crosses the link as the rows of its ``layout``.

    Before it dequantises an output, the host applies to it the ``function`` with its ``scaling``, to each pixel's
    channels, as :mod:`tilesim.arithmetic.classify` has it, and then ``lookup``.
    """

    layout: Layout
    scale: float = 0.0
    zero_point: int = 0
    rounding: str = "even"
    function: str = ""
    scaling: tuple[int, ...] = ()
    lookup: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layer(program.Layer):
    """A layer of which, in a cycle in which it multiplies, ``used_units`` units have a word of a channel that they
    need, and ``output_units`` of these one for an output.
    """

    used_units: int = 0
    output_units: int = 0


@dataclass(frozen=True)
class TensorPlace:
    """Where a model tensor stands, from ``row`` of the data RAM on in its ``layout``, once the output unit has written
    ``rows_written`` rows since the section began. ``shape`` is canonical.
    """

    index: int
    name: str
    row: int
    rows_written: int
    layout: Layout
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class Program(program.Program):
    """A program for a rotating machine, of one network."""

    topology: Topology
    load: tuple[Instruction, ...]
    run: tuple[Instruction, ...]
    inputs: tuple[HostTensor, ...] = ()
    outputs: tuple[HostTensor, ...] = ()
    layers: tuple[Layer, ...] = ()
    tensors: tuple[TensorPlace, ...] = ()
    """The model's tensors that can be read out, and where they stand."""

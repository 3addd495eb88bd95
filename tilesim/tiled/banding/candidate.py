"""In how many bands a run of layers fits, and about what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import prod

from msgspec import Struct

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import in_use
from tilesim.machines.policies import Wishes
from tilesim.network.graph import Network
from tilesim.tiled.banding.operators import ROWS
from tilesim.tiled.banding.rewrite import BandedRun, band_alone, band_rows, rows_made, run_outputs
from tilesim.tiled.compiler.fitting import cycles_per_pixel
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.placement import in_calls, in_steps, with_slack
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.topology import Host, Topology

MOST_BANDS = 64
"""Of one run."""
MOST_AGAIN = 4
"""Runs in which the tiles have so many times the work are left alone, and all that are longer."""
BAND_CYCLES = 4000
"""About what a band takes beside its work: its rows' way from the host and to it, and all that waits for its first one.
"""


class Candidate(Struct, frozen=True):
    """A run; about how many more cycles it takes, and what its inputs take to leave the chip, if they are there."""

    run: BandedRun
    cycles: float
    leaving_cycles: float


class RunMeasures(Struct, frozen=True):
    """Measures runs of a ``network``, of which the chip's part would be spread as ``whole``, against ``capacity`` bytes
    of a tile.
    """

    network: Network
    whole: Partition
    capacity: int

    def candidate(self, steps: range, layers: range, least: int) -> Candidate | None:
        """A run in the fewest bands that fit, ``least`` or more; None if there are none, or the work is too much."""
        found = self._fitting(layers, least)
        if found is None:
            return None
        bands, part = found
        plain, again = self.plain_cycles(steps), bands * _cycles(part)
        if again > MOST_AGAIN * plain:
            return None
        more = again - plain + bands * (BAND_CYCLES + self._waiting_cycles(layers, part))
        link = _Link.of(self.whole.topology)
        more += float(link.to_chip_cycles(max(0, bands * self._come(part) - self._inputs(layers))))
        more += float(link.from_chip_cycles(self._bytes(self._left(layers))))
        return Candidate(BandedRun(layers, bands), more, float(link.from_chip_cycles(self._bytes(self._made(layers)))))

    def plain_cycles(self, steps: Iterable[int]) -> float:
        """About what some steps take if nothing is in bands."""
        return sum(_step_cycles(self.whole, step) for step in steps)

    def _fitting(self, layers: range, least: int) -> tuple[int, Partition] | None:
        sizes = [self.network.tensors[index].shape[ROWS] for index in run_outputs(self.network, layers)]
        bands = least
        while bands <= min(MOST_BANDS, *sizes):
            part = self._band(layers, bands)
            if part is not None and self._fits(part):
                return bands, part
            bands += max(1, bands // 4)
        return None

    def _band(self, layers: range, bands: int) -> Partition | None:
        """The largest band, if tiles can do it, and if there is something to do in all of them."""
        network, whole = self.network, self.whole
        sizes = {index: network.tensors[index].shape[ROWS] for index in run_outputs(network, layers)}
        slices = [{index: band_rows(size, bands)[k] for index, size in sizes.items()} for k in range(bands)]
        made = [rows_made(network, layers, rows).values() for rows in slices]
        if not all(map(all, made)):
            return None
        wanted = slices[max(range(bands), key=lambda k: sum(map(len, made[k])))]
        word_bytes = whole.topology.narrow_memory.word_bytes
        try:
            plan = plan_operators(band_alone(network, layers, wanted), word_bytes, absorbs=whole.wishes.mixed)
        except CapacityError:
            return None
        return partition_network(plan, whole.topology, (), Wishes(whole.wishes.default), 0, whole.arrangement)

    def _fits(self, part: Partition) -> bool:
        lives = in_steps(part, with_slack(part, part.topology), in_calls(part))
        return int(in_use(list(lives.values())).max(initial=0)) <= self.capacity

    def _waiting_cycles(self, layers: range, part: Partition) -> float:
        """How much longer the run's parameters take over the ring than the work of a band."""
        chip, tensors = self.whole.topology, self.network.tensors
        constants = (tensors[index].data for k in layers for index in self.network.nodes[k].inputs)
        size = sum(data.nbytes for data in constants if data is not None)
        return max(0.0, size / chip.wide_memory.row_bytes * chip.ring_row_cycles - _cycles(part))

    def _come(self, part: Partition) -> int:
        """Bytes that come to the chip for a band."""
        return sum(prod(source.stored.shape) * source.stored.dtype.itemsize for source in part.plan.sources)

    def _inputs(self, layers: range) -> int:
        """Bytes of the network's inputs among what some layers read, which come in any case."""
        return self._bytes(self._read(layers).intersection(self.network.inputs))

    def _made(self, layers: range) -> set[int]:
        """What some layers read that others have made."""
        return self._read(layers).difference(self.network.inputs)

    def _read(self, layers: range) -> set[int]:
        nodes = [self.network.nodes[k] for k in layers]
        read = {index for node in nodes for index in node.inputs if self.network.tensors[index].data is None}
        return read - {node.output for node in nodes}

    def _left(self, layers: range) -> set[int]:
        """What leaves the chip for the run, and would not otherwise."""
        return set(run_outputs(self.network, layers)).difference(self.network.outputs)

    def _bytes(self, indices: Iterable[int]) -> int:
        tensors = [self.network.tensors[index] for index in indices]
        return sum(prod(tensor.shape) * tensor.dtype.itemsize for tensor in tensors)


class _Link(Struct, frozen=True):
    """The host's link, as far as programs may depend on it: where parameters come over it, its rates do."""

    topology: Topology
    known: bool

    @classmethod
    def of(cls, topology: Topology) -> _Link:
        return cls(topology, topology.host.sends_parameters)

    def to_chip_cycles(self, size_bytes: int) -> Fraction:
        return self.topology.to_chip_cycles(size_bytes) if self.known else self._usual(size_bytes)

    def from_chip_cycles(self, size_bytes: int) -> Fraction:
        return self.topology.from_chip_cycles(size_bytes) if self.known else self._usual(size_bytes)

    def _usual(self, size_bytes: int) -> Fraction:
        return Fraction(size_bytes, Host.model_fields["bytes_per_cycle"].default)


def _cycles(part: Partition) -> float:
    return sum(_step_cycles(part, step) for step in range(1, len(part.plan.steps) + 1))


def _step_cycles(partition: Partition, step: int) -> float:
    """About how long the busiest tile takes for a step."""
    node = partition.plan.steps[step - 1][1]
    made = partition.made(node)
    pixels = max(map(len, made.rows.own)) * max(map(len, made.columns.own))
    return pixels * cycles_per_pixel(partition.plan.network, node, partition.topology)

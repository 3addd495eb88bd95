"""The compiler: a network and a chip in, a program out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.requantise import float_bits
from tilesim.errors import CapacityError, ProgramError
from tilesim.network.graph import Network, Node, Tensor, macs
from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.softmax import Softmax
from tilesim.tiled.compiler.feature_map import FeatureMap, Shape
from tilesim.tiled.compiler.lower.add import lower_add
from tilesim.tiled.compiler.lower.convolution import lower_convolution, lower_fully_connected
from tilesim.tiled.compiler.lower.depthwise import lower_depthwise
from tilesim.tiled.compiler.lower.pool import lower_average_pool, lower_max_pool, lower_rescale
from tilesim.tiled.compiler.outline import Outline, Sink, Source, outline
from tilesim.tiled.compiler.parameters import Store
from tilesim.tiled.compiler.placement import Placement, place
from tilesim.tiled.compiler.rows import block, each_row, map_words, rows_for, wide_rows
from tilesim.tiled.compiler.task import Task, element_type
from tilesim.tiled.compiler.writer import Writer, waiting
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.fields import Flag, Side, Watcher
from tilesim.tiled.isa.instructions import (
    Classify,
    Infeed,
    MeshIn,
    NarrowToWide,
    Outfeed,
    RingConsume,
    RingProduce,
    TensorOp,
    TileFence,
    WideToNarrow,
)
from tilesim.tiled.isa.program import DataSegment, HostTensor, Layer, Program, Region, TensorLayout, TensorPiece
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

LOWERINGS: dict[type[Any], Callable[..., list[TensorOp]]] = {
    Convolution: lower_convolution,
    DepthwiseConvolution: lower_depthwise,
    FullyConnected: lower_fully_connected,
    Add: lower_add,
    AveragePool: lower_average_pool,
    MaxPool: lower_max_pool,
    Rescale: lower_rescale,
}

TILE = 0b1
SOFTMAX_FUNCTIONS = {"plain": "softmax", "aligned": "softmax_aligned"}


def compile_network(network: Network, topology: Topology) -> Program:
    """Compile ``network`` for the first tile of ``topology``: parameters resident in wide memory, activations in
    narrow memory.

    Raises:
        CapacityError: the network does not fit, or has layers that this machine can't run.
        ProgramError: the chip is too small for an instruction that the network needs.
    """
    plan = outline(network, topology.narrow_memory.word_bytes)
    program = _OneTile(network, topology, plan, place(plan, topology)).program()
    found = faults(program)
    if found:
        raise ProgramError(found)
    return program


@dataclass(frozen=True)
class _Staging:
    """Rows of wide memory through which activations come and go."""

    address: int
    rows: int


class _OneTile:
    """Writes the program of one tile."""

    def __init__(self, network: Network, topology: Topology, plan: Outline, placement: Placement) -> None:
        self._network = network
        self._topology = topology
        self._plan = plan
        self._placement = placement
        self._row_bytes = topology.wide_memory.row_bytes
        self._word_bytes = topology.narrow_memory.word_bytes
        self._store = Store(self._row_bytes)
        self._writer = Writer()
        self._pieces: list[TensorPiece] = []
        self._border_watchers: dict[int, list[Watcher]] = {}
        self._tensorops_until: dict[int, int] = {0: 0}

    def program(self) -> Program:
        layers = self._lowered()
        staging = self._staging()
        self._writer.write(TileFence(tiles=TILE, reset=tuple(Flag), label="start"))
        for source in self._plan.sources:
            self._feed(source, staging[source.stored.index])
        for step, ops in enumerate(layers, 1):
            self._step(step, ops)
        for number, sink in enumerate(self._plan.sinks):
            self._drain(number, sink, staging[sink.stored.index])
        return Program(
            name=self._network.name,
            topology=self._topology,
            load=self._load(),
            run=tuple(self._writer.instructions),
            data=(DataSegment("parameters", 0, self._store.image()),) if self._store.size_bytes else (),
            inputs=tuple(self._host_input(source) for source in self._plan.sources),
            outputs=tuple(self._host_output(sink) for sink in self._plan.sinks),
            layers=tuple(Layer(node.name, node.kind, macs(self._network, node)) for node in self._network.nodes),
            tensors=tuple(self._layouts()),
            pieces=tuple(self._pieces),
            regions=tuple(self._regions(staging)),
        )

    def _map(self, tensor: Tensor) -> FeatureMap:
        return self._placement.maps[tensor.index]

    def _lowered(self) -> list[list[TensorOp]]:
        """The tensorops of each step; fills the parameter store."""
        lowered = []
        for layer, node in self._plan.steps:
            ops = LOWERINGS[type(node.operator)](self._task(layer, node), node.operator)
            label = f"{node.kind}{layer}"
            named = [replace(op, label=label if len(ops) == 1 else f"{label}.{k}") for k, op in enumerate(ops)]
            lowered.append(named)
        return lowered

    def _task(self, layer: int, node: Node) -> Task:
        tensors = self._plan.activations(node)
        output = self._network.tensors[node.output]
        constants = [self._network.tensors[i].data for i in node.inputs if self._network.tensors[i].data is not None]
        return Task(
            topology=self._topology,
            tiles=TILE,
            layer=layer,
            inputs=tuple(self._map(tensor) for tensor in tensors),
            output=self._map(output),
            constants=tuple(constant for constant in constants if constant is not None),
            input_type=element_type(tensors[0].dtype),
            output_type=element_type(output.dtype),
            keep=partial(self._keep, node.name),
        )

    def _regions(self, staging: dict[int, _Staging]) -> Iterator[Region]:
        """What lies where: a map or a parameter block a region."""
        for index, map_ in self._placement.maps.items():
            yield Region(f"tensor{index}", "narrow", TILE, map_.address, map_.size_bytes)
        if self._store.size_bytes:
            yield Region("parameters", "wide", TILE, self._topology.wide_memory.reserve_bytes, self._store.size_bytes)
        for index, rows in staging.items():
            yield Region(f"staging{index}", "wide", TILE, rows.address, rows.rows * self._row_bytes)

    def _keep(self, layer: str, data: NDArray[Any]) -> int:
        reserve, capacity = self._topology.wide_memory.reserve_bytes, self._topology.wide_memory.size_bytes
        free = capacity - reserve - self._store.size_bytes
        if data.nbytes > free:
            raise CapacityError(
                f"{self._network.name}: parameters of layer {layer} must fit the wide memory of {self._topology.name}: "
                f"they need {format_bytes(data.nbytes)}, and {format_bytes(max(0, free))} of {format_bytes(capacity)} "
                "are free"
            )
        return reserve + self._store.add(data)

    def _staging(self) -> dict[int, _Staging]:
        """Behind the parameters, room for every tensor that crosses the ring."""
        address = self._topology.wide_memory.reserve_bytes + self._store.size_bytes
        found = {}
        for tensor in {
            t.index: t for t in (*(s.stored for s in self._plan.sources), *(s.stored for s in self._plan.sinks))
        }.values():
            rows = rows_for(self._map(tensor), self._row_bytes)
            found[tensor.index] = _Staging(address, rows)
            address += rows * self._row_bytes
            if address > self._topology.wide_memory.size_bytes:
                free = self._topology.wide_memory.size_bytes - found[tensor.index].address
                raise CapacityError(
                    f"{self._network.name}: tensor {tensor.name} must pass through the wide memory of "
                    f"{self._topology.name}: it needs {format_bytes(rows * self._row_bytes)}, and "
                    f"{format_bytes(max(0, free))} are free"
                )
        return found

    def _load(self) -> tuple[RingConsume | Infeed, ...]:
        rows = self._store.size_bytes // self._row_bytes
        if not rows:
            return ()
        target = wide_rows(self._topology.wide_memory.reserve_bytes, rows, self._row_bytes)
        return (
            RingConsume(tiles=TILE, write=target, produce="r", label="keep_parameters"),
            Infeed(source="data", rows=rows, address=0, to=TILE, label="send_parameters"),
        )

    def _feed(self, source: Source, staging: _Staging) -> None:
        """Host to ring to wide staging to narrow memory, row by row as they come."""
        write, tensor = self._writer.write, source.stored
        self._borders(tensor, 0)
        watchers = self._border_watchers.setdefault(tensor.index, [])
        # Whole wide rows may run on into the border below the map: the fill comes first.
        after_border = tuple(w for w in watchers if w.flag is Flag.MESH_SOUTH_IN)
        before = self._writer.raised[Flag.RING_READ_A]
        rows = wide_rows(staging.address, staging.rows, self._row_bytes)
        several = staging.rows > 1
        arrived = Watcher(Flag.RING_READ_A, before + 1, "r", 1) if several else Watcher(Flag.RING_READ_A, before + 1)
        label = f"input{tensor.index}"
        write(
            RingConsume(
                tiles=TILE,
                write=each_row(rows) if several else rows,
                produce="b" if several else "r",
                label=f"{label}.receive",
            ),
            Flag.RING_READ_A,
            staging.rows,
        )
        write(Infeed(source="host", rows=staging.rows, to=TILE, label=f"{label}.send"))
        write(
            WideToNarrow(
                tiles=TILE,
                read=rows,
                write=map_words(self._map(tensor), staging.rows, self._row_bytes, self._word_bytes),
                wait=(arrived, *after_border),
                produce="r",
                label=label,
            ),
            Flag.WIDE_TO_NARROW,
        )
        watchers[:] = [w for w in watchers if w not in after_border]
        watchers.append(self._writer.all_of(Flag.WIDE_TO_NARROW))
        self._note_piece(tensor, label)

    def _step(self, step: int, ops: list[TensorOp]) -> None:
        _, node = self._plan.steps[step - 1]
        output = self._network.tensors[node.output]
        self._borders(output, step)
        watchers = [w for tensor in self._plan.activations(node) for w in self._border_watchers.pop(tensor.index, [])]
        for k, op in enumerate(ops):
            self._writer.compute(op if k else waiting(op, watchers))
        self._tensorops_until[step] = self._writer.raised[Flag.AVDATA]
        self._note_piece(output, ops[-1].label)

    def _borders(self, tensor: Tensor, step: int) -> None:
        """Let the mesh engines, which have no neighbours here, fill the border with the tensor's zero point."""
        map_ = self._map(tensor)
        zero_point = tensor.quantisation.zero_point if tensor.quantisation else 0
        last = max((self._placement.lifetimes[i].last for i in self._placement.predecessors(tensor.index)), default=-1)
        done = self._tensorops_until.get(min(last, step), 0) if last >= 0 else 0
        wait = (Watcher(Flag.AVDATA, done),) if done else ()
        for side, (lines, words, address) in _border_blocks(map_, self._word_bytes).items():
            flag = Flag(f"mesh_{side}_in")
            target = block(address, lines, map_.row_bytes, words, self._word_bytes)
            label = f"border{tensor.index}.{side}"
            self._writer.write(
                MeshIn(
                    tiles=TILE,
                    side=side,
                    write=target,
                    fill=zero_point,
                    wait=wait,
                    produce=target.nest.loops[0].name,
                    label=label,
                ),
                flag,
            )
            self._border_watchers.setdefault(tensor.index, []).append(self._writer.all_of(flag))

    def _drain(self, number: int, sink: Sink, staging: _Staging) -> None:
        """Narrow memory to wide staging to ring, through the classifier if there is a softmax, to the host."""
        write, tensor, tiles = self._writer.write, sink.stored, self._topology.tiles
        rows = wide_rows(staging.address, staging.rows, self._row_bytes)
        label = f"output{number}"
        write(
            NarrowToWide(
                tiles=TILE,
                read=map_words(self._map(tensor), staging.rows, self._row_bytes, self._word_bytes),
                write=rows,
                wait=(self._writer.all_of(Flag.AVDATA),),
                produce="r",
                label=label,
            ),
            Flag.NARROW_TO_WIDE,
        )
        write(Outfeed(output=number, rows=staging.rows, label=f"{label}.receive"))
        if sink.softmax is not None:
            write(self._classify(sink, sink.softmax, staging.rows))
        to = 1 << (tiles if sink.softmax is not None else tiles + 1)
        wait = (self._writer.all_of(Flag.NARROW_TO_WIDE),)
        write(RingProduce(tiles=TILE, read=rows, to=to, wait=wait, label=f"{label}.send"))

    def _classify(self, sink: Sink, softmax: Softmax, rows: int) -> Classify:
        scales = (int(float_bits(scale)[0]) for scale in (softmax.input_scale, softmax.output_scale))
        return Classify(
            rows=rows,
            elements=sink.stored.shape[-1],
            function=SOFTMAX_FUNCTIONS[softmax.rule],
            scaling=(*scales, softmax.output_zero_point, *softmax.clamp),
            input_type=element_type(sink.stored.dtype),
            output_type=element_type(sink.stored.dtype),
            layer=sink.softmax_layer,
            label=f"softmax{sink.softmax_layer}",
        )

    def _host_input(self, source: Source) -> HostTensor:
        step, pad = source.quantise, source.stored.quantisation
        return self._host_tensor(
            source.model,
            source.stored,
            pad=pad.zero_point if pad else 0,
            scale=step.scale if step else 0.0,
            zero_point=step.zero_point if step else 0,
            rounding=step.rounding if step else "even",
        )

    def _host_output(self, sink: Sink) -> HostTensor:
        step = sink.dequantise
        return self._host_tensor(
            sink.model, sink.stored, scale=step.scale if step else 0.0, zero_point=step.zero_point if step else 0
        )

    def _host_tensor(self, model: Tensor, stored: Tensor, **conversion: Any) -> HostTensor:
        map_ = self._map(stored)
        flat = model.shape[-1] != stored.shape[-1]
        return HostTensor(
            name=model.name,
            index=model.index,
            dtype=str(model.dtype),
            shape=model.model_shape,
            axes=model.model_axes or tuple(range(len(model.shape))),
            element=str(element_type(stored.dtype)),
            pixel_bytes=model.shape[-1] if flat else map_.pixel_bytes,
            rows=rows_for(map_, self._row_bytes),
            **conversion,
        )

    def _note_piece(self, tensor: Tensor, after: str) -> None:
        map_, shape = self._map(tensor), self._map(tensor).shape
        for index in (i for i in self._network.tensors if self._plan.stored(i) is tensor):
            if Shape.of(self._network.tensors[index].shape) != shape:
                continue
            self._pieces.append(
                TensorPiece(
                    index=index,
                    after=after,
                    tile=0,
                    address=map_.at(0, 0),
                    row_bytes=map_.row_bytes,
                    pixel_bytes=map_.pixel_bytes,
                    origin=(0, 0, 0),
                    extent=(shape.height, shape.width, shape.channels),
                    element=str(element_type(tensor.dtype)),
                )
            )

    def _layouts(self) -> list[TensorLayout]:
        indices = sorted({piece.index for piece in self._pieces})
        tensors = [self._network.tensors[index] for index in indices]
        return [TensorLayout(t.index, t.name, t.shape, t.model_axes or tuple(range(len(t.shape)))) for t in tensors]


def _border_blocks(map_: FeatureMap, word_bytes: int) -> dict[Side, tuple[int, int, int]]:
    """The sides of a border that are there: lines, words a line, address. North and south take the corners."""
    border, shape = map_.border, map_.shape
    line, left, right = (
        n * map_.pixel_bytes // word_bytes
        for n in (border.left + shape.width + border.right, border.left, border.right)
    )
    sides = {
        Side.NORTH: (border.top, line, map_.at(-border.top, -border.left)),
        Side.EAST: (shape.height, right, map_.at(0, shape.width)),
        Side.SOUTH: (border.bottom, line, map_.at(shape.height, -border.left)),
        Side.WEST: (shape.height, left, map_.at(0, -border.left)),
    }
    return {side: (lines, words, address) for side, (lines, words, address) in sides.items() if lines * words}

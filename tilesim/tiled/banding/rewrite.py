"""A network in which runs of layers are computed band by band: the host cuts rows out of what a run reads, and puts
together what it makes.

Source: assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators import Concatenation, Slice
from tilesim.tiled.banding.operators import ROWS, band_operator
from tilesim.tiled.compiler.axis import hull


@dataclass(frozen=True)
class BandedRun:
    """The layers ``layers`` of a network, made in ``bands`` bands of rows, all of one band before the next."""

    layers: range
    bands: int


@dataclass(frozen=True)
class BandedNetwork:
    """A network with such runs. ``cuts`` are its layers that cut bands out of maps, and put them together, ``crops``
    those that take some rows of a band for a layer that needs fewer than others; ``origins`` has, for each of its
    layers, the number in the plain network of that of which it makes a band, or that bands are cut or put together for.
    ``places`` has, for each tensor that is a band, that of which it is one, and its first row there.
    """

    network: Network
    cuts: frozenset[int]
    crops: frozenset[int]
    origins: tuple[int, ...]
    places: Mapping[int, tuple[int, int]]
    runs: tuple[BandedRun, ...] = ()

    def bands_of(self, layer: int) -> list[int]:
        """The layers that are bands of one of the plain network, or that one itself."""
        return [k for k, of in enumerate(self.origins) if of == layer and k not in self.cuts | self.crops]


def with_bands(network: Network, runs: Sequence[BandedRun]) -> BandedNetwork:
    """The network with these runs, which come one after the other."""
    writer = _Writer(network)
    starts = {run.layers.start: run for run in runs}
    layer = 0
    while layer < len(network.nodes):
        if (run := starts.get(layer)) is None:
            writer.put(network.nodes[layer], layer)
            layer += 1
        else:
            writer.put_run(run)
            layer = run.layers.stop
    changed = replace(network, nodes=tuple(writer.nodes), tensors=writer.tensors)
    return BandedNetwork(
        changed, frozenset(writer.cuts), frozenset(writer.crops), tuple(writer.origins), writer.places, tuple(runs)
    )


def band_rows(size: int, bands: int) -> list[range]:
    """As many rows in each band, but for one."""
    return [range(size * band // bands, size * (band + 1) // bands) for band in range(bands)]


def run_outputs(network: Network, layers: range) -> list[int]:
    """What some layers make that others read, or nobody, or that leaves the network."""
    inside = [network.nodes[layer] for layer in layers]
    read = {index for k, node in enumerate(network.nodes) if k not in layers for index in node.inputs}
    within = {index for node in inside for index in node.inputs}
    leaving = read.union(network.outputs)
    return [node.output for node in inside if node.output in leaving or node.output not in within]


def rows_made(network: Network, layers: range, wanted: Mapping[int, range]) -> dict[int, range]:
    """The rows of each map, made by some layers or read by them, that ``wanted`` rows of their outputs need."""
    rows = dict(wanted)
    for layer in reversed(layers):
        node = network.nodes[layer]
        needs = band_operator(network, node, rows[node.output]).needs
        for index in maps_read(network, node):
            rows[index] = hull((rows[index], needs)) if index in rows else needs
    return rows


def maps_read(network: Network, node: Node) -> list[int]:
    """The maps of several rows that a node reads."""
    read = [network.tensors[index] for index in node.inputs]
    return [
        tensor.index for tensor in read if tensor.data is None and len(tensor.shape) == 4 and tensor.shape[ROWS] > 1
    ]


def band_alone(network: Network, layers: range, wanted: Mapping[int, range]) -> Network:
    """What the chip does for one band: its inputs are rows of what the layers read."""
    writer = _Writer(network)
    writer.put_band(layers, "band", wanted)
    nodes = [node for number, node in enumerate(writer.nodes) if number not in writer.cuts]
    made = {node.output: node for node in nodes}
    own = [writer.nodes[number].inputs[0] for number in writer.cuts]
    last = {index for node in nodes for index in node.inputs}
    outputs = [index for index in made if index in own or index not in last]
    inputs = dict.fromkeys(
        index for node in nodes for index in node.inputs if index not in made and writer.tensors[index].data is None
    )
    return replace(network, nodes=tuple(nodes), tensors=writer.tensors, inputs=tuple(inputs), outputs=tuple(outputs))


@dataclass
class _Writer:
    """The layers of the network as they are put down."""

    network: Network
    nodes: list[Node] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    cuts: set[int] = field(default_factory=set)
    crops: set[int] = field(default_factory=set)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    tensors: dict[int, Tensor] = field(init=False)
    _next: int = field(init=False)

    def __post_init__(self) -> None:
        self.tensors = dict(self.network.tensors)
        self._next = max(self.tensors) + 1

    def put(self, node: Node, origin: int) -> None:
        self.nodes.append(node)
        self.origins.append(origin)

    def put_run(self, run: BandedRun) -> None:
        network = self.network
        outputs = run_outputs(network, run.layers)
        slices = {index: band_rows(network.tensors[index].shape[ROWS], run.bands) for index in outputs}
        parts: dict[int, list[int]] = {index: [] for index in outputs}
        for band in range(run.bands):
            wanted = {index: slices[index][band] for index in outputs}
            made = self.put_band(run.layers, f"band{band}", wanted)
            for index, part in made.items():
                parts[index].append(part)
        last = run.layers.stop - 1
        for index, those in parts.items():
            self.cuts.add(len(self.nodes))
            self.put(Node(f"{self.tensors[index].name}/whole", Concatenation(ROWS), tuple(those), index), last)

    def put_band(self, layers: range, name: str, wanted: Mapping[int, range]) -> dict[int, int]:
        """The wanted rows of each output, by its number."""
        rows = rows_made(self.network, layers, wanted)
        known = {index: self._sent(index, own, name, layers.start) for index, own in self._read(layers, rows)}
        for layer in layers:
            node = self.network.nodes[layer]
            band, maps = band_operator(self.network, node, rows[node.output]), maps_read(self.network, node)
            inputs = tuple(
                self._cropped(known[index], index, rows[index], band.needs, f"{name}/for{layer}", layer)
                if index in maps
                else index
                for index in node.inputs
            )
            known[node.output] = self._band_tensor(node.output, rows[node.output], name)
            self.put(Node(f"{node.name}/{name}", band.operator, inputs, known[node.output], node.hints), layer)
        last = layers.stop - 1
        return {i: self._own(known[i], i, rows[i], own, f"{name}/own", last) for i, own in wanted.items()}

    def _read(self, layers: range, rows: Mapping[int, range]) -> Iterator[tuple[int, range]]:
        """The maps from outside that some layers read, with the rows of them."""
        made = {self.network.nodes[layer].output for layer in layers}
        return ((index, own) for index, own in rows.items() if index not in made)

    def _sent(self, index: int, rows: range, name: str, origin: int) -> int:
        """Those rows of a whole map that the host sends; of all of one that is on the chip, that itself."""
        everything = range(self.network.tensors[index].shape[ROWS])
        if rows == everything and index not in self.network.inputs:  # those come first, not in their turn
            return index
        self.cuts.add(len(self.nodes))
        return self._part(index, index, everything, rows, name, origin)

    def _own(self, part: int, index: int, there: range, rows: range, name: str, origin: int) -> int:
        """Those ``rows`` of an output that no other band makes, of all that this one makes as its layers need them."""
        if there == rows:
            return part
        self.cuts.add(len(self.nodes))
        return self._part(part, index, there, rows, name, origin)

    def _cropped(self, part: int, index: int, there: range, rows: range, name: str, origin: int) -> int:
        """Those rows of a band that a layer needs, if others need more."""
        if there == rows:
            return part
        self.crops.add(len(self.nodes))
        return self._part(part, index, there, rows, name, origin)

    def _part(self, part: int, index: int, there: range, rows: range, name: str, origin: int) -> int:
        """Some rows of the tensor ``part``, which has the rows ``there`` of the map ``index`` of the network."""
        shape = self.tensors[part].shape
        begin = tuple(rows.start - there.start if axis == ROWS else 0 for axis in range(len(shape)))
        size = tuple(len(rows) if axis == ROWS else extent for axis, extent in enumerate(shape))
        made = self._band_tensor(index, rows, name)
        self.put(Node(self.tensors[made].name, Slice(begin, size), (part,), made), origin)
        return made

    def _band_tensor(self, index: int, rows: range, name: str) -> int:
        tensor, number = self.network.tensors[index], self._next
        self._next += 1
        shape = (*tensor.shape[:ROWS], len(rows), *tensor.shape[ROWS + 1 :])
        self.places[number] = index, rows.start
        self.tensors[number] = replace(tensor, index=number, name=f"{tensor.name}/{name}", shape=shape)
        return number

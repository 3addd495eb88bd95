"""The cycles of a systolic run's layers beside the count of SCALE-Sim, and what either counts that the other does not.

Source: SCALE-Sim 3.0 (https://github.com/scalesim-project/SCALE-Sim), weight-stationary, stall-free, as measured: a
closed form that its results equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilesim.report.words import short_name
from tilesim.statistics import ArrayShape, RunStatistics

ACTIVE = ("useful MACs", "unused MACs")
DEFINITIONS: Mapping[str, str] = {
    "M, K, N": "Vectors that go through the array, activations of a vector, outputs.",
    "tiles": "Tiles of weights: K over the array's inputs times N over its outputs, each rounded up.",
    "both": "Tiles times M: both count a cycle for each vector that goes through a tile.",
    "load": "Only SCALE-Sim: each tile's weights are shifted in (a cycle for each input of the array) before its "
    "vectors come. Here they are shifted in while the tile before computes; what is left of that is a weight shift.",
    "skew": "Only SCALE-Sim: the vectors of each tile run out of the array (inputs + outputs - 2 cycles) before the "
    "next tile begins; one cycle less in all. Here the next tile follows at once; the skew is latency alone.",
    "more vectors": "Only here: vectors that go through the array more often, as 16-bit operands or positions of a "
    "window that are fed one after the other have them.",
    "weight shift": "Only here: the array waits for the rest of a shift.",
    "weight stall": "Only here: the array waits for weight memory, which a stall-free count takes as endlessly fast.",
    "waits": "Only here: the array waits for results of layers before, for inputs, instructions, or the vector unit.",
}
"""What the columns are."""
NOTE = (
    "SCALE-Sim rounds the output sizes of strided layers up (56 rows become 29, not 28): its own M may be larger than "
    "this one. Depthwise layers are left out: it has no count for them."
)


@dataclass(frozen=True)
class StallFreeRow:
    """A layer, with all cycles of :data:`DEFINITIONS`; ``ours`` and ``stall_free`` are the sums of their parts."""

    index: int
    name: str
    vectors: int
    inputs: int
    outputs: int
    tiles: int
    both: int
    load: int
    skew: int
    more_vectors: int
    weight_shift: int
    weight_stall: int
    waits: int

    @property
    def ours(self) -> int:
        return self.both + self.more_vectors + self.weight_shift + self.weight_stall + self.waits

    @property
    def stall_free(self) -> int:
        return self.both + self.load + self.skew


def rows(statistics: RunStatistics) -> Iterator[StallFreeRow]:
    """A row for each dense layer that ran on a systolic array; none for other machines."""
    for index, layer in enumerate(statistics["layers"]):
        matrix = layer.get("matrix")
        if not matrix or matrix["groups"] != 1:
            continue
        inputs, outputs = _sizes(statistics["chip"]["array"])
        vectors = matrix["vectors"] * statistics["inferences"]
        tiles = -(-matrix["inputs"] // inputs) * -(-matrix["outputs"] // outputs)
        cycles = dict(layer["breakdown"])
        active = sum(cycles.pop(cause, 0) for cause in ACTIVE)
        yield StallFreeRow(
            index,
            short_name(layer["name"]),
            vectors,
            matrix["inputs"],
            matrix["outputs"],
            tiles,
            both=tiles * vectors,
            load=tiles * inputs,
            skew=tiles * (inputs + outputs - 2) - 1,
            more_vectors=active - tiles * vectors,
            weight_shift=cycles.pop("weight shift", 0),
            weight_stall=cycles.pop("weight stall", 0),
            waits=sum(cycles.values()),
        )


def _sizes(array: ArrayShape) -> tuple[int, int]:
    """Its inputs and outputs."""
    sizes = (array["rows"], array["columns"])
    return sizes if array["weights"] == "columns" else (sizes[1], sizes[0])

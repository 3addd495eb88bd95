"""The layers of a run: how long, how well used, bound by what, how many bytes, how much energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesim.report.costs import WAITS, cause_words, kind_words, mac_arrays
from tilesim.report.names import short_name
from tilesim.statistics import BytesByBus, EnergyStatistics, LayerEnergy, RunStatistics

DEFINITIONS: Mapping[str, str] = {
    "cycles": (
        "From the first tile's first step to the last tile's last word. Tiles go on to the next layer as soon as they "
        "can, so layers overlap and their cycles may add up to more than the run. Of several inferences they are the "
        "sum, and the start is the first."
    ),
    "of run": "Its cycles divided by the run's; a start counts from the run's first cycle.",
    "in use": "MACs divided by what the layer's tiles could do in its cycles.",
    "bound by": (
        "The cause that most of the MAC arrays' cycles for the layer went into. Each tile accounts for the cycles from "
        "the end of its tensor operation before (or the start of the run) to the end of each of the layer's, so that "
        "together the layers have all cycles of the MAC arrays but those after a tile's last one, which have no work."
    ),
    "bytes": (
        "What the layer's instructions put on each bus, counted once, where it enters: rows of the ring, words of the "
        "mesh, instructions, and what the host sends and gets. Headers are not counted."
    ),
    "energy": "Counted actions times the energy of each in the run's table.",
}
"""What the columns are."""
SYSTOLIC: Mapping[str, str] = {
    **DEFINITIONS,
    "cycles": (
        "Those of the matrix unit, from the end of its work for other layers to the end of its last instruction for "
        "this one; a layer of the vector unit alone has the cycles in which the matrix unit waits for it. Of several "
        "inferences they are the sum, and the start is the first."
    ),
    "in use": "MACs divided by what all cells of the array could do in its cycles.",
    "bound by": "The cause that most of the layer's cycles went into.",
    "bytes": (
        "What the layer's instructions put on each link: what the host sends and gets, weights that leave weight "
        "memory, and the instructions themselves."
    ),
}


def definitions(statistics: RunStatistics) -> Mapping[str, str]:
    """What the columns are for the machine of a run."""
    return SYSTOLIC if statistics["machine"] == "systolic" else DEFINITIONS


CAUSES: Mapping[str, str] = {
    "macs": "the MAC array multiplies, or does the layer's other work",
    "output write": "the output FIFO is full or empties, or holds a result that is to be read again",
    "port": "a memory port is denied, or reads parameters or sums",
    "mesh": "borders come too late, which the mesh brings or fills",
    "ring": "rows come too late over the ring",
    "host": "inputs come too late from the host",
    "instruction bus": "an instruction, or its first address, comes too late",
    "flags": "other work of the tile is not done",
    "no work": "the tile has nothing to do: layers run on other tiles only, or nothing is left",
    "useful MACs": "the systolic array is active: the share of its cells that hold weights of the layer",
    "unused MACs": "the systolic array is active: the share of its cells that hold none",
    "weight stall": "the next tile of weights has not come from weight memory",
    "weight shift": "the next tile of weights is on its way into the array, which has nothing else to do",
    "RAW stall": "activations that the array would read are not written yet",
    "input stall": "the host's inputs are not there yet, or a queue full of them keeps instructions back",
    "other": "the array has nothing to do: other units are at work, or instructions are on their way",
}
"""What stands behind a MAC array's cycles; another machine's causes explain themselves or have rows here."""


@dataclass(frozen=True)
class Layer:
    """A layer of a run, or what adds up to the run beside all layers (``index`` None).

    ``name`` is what tells it from others, ``full_name`` what the model calls it. ``breakdown``: cycles of MAC arrays by
    cause. ``entered`` and ``carried``: bytes by bus, counted once or on each link. ``energy_pj`` is None where nobody
    counted it, and ``action_bytes``, the bytes of each action that was counted, is empty.
    """

    index: int | None
    network: str
    name: str
    full_name: str
    kind: str
    tiles: int
    macs: int
    start_cycle: int
    cycles: int
    of_run: float
    in_use: float
    bound_by: str | None
    breakdown: Mapping[str, int]
    entered: Mapping[str, int]
    carried: Mapping[str, int]
    energy_pj: float | None
    action_bytes: Mapping[str, int]


def layers(statistics: RunStatistics) -> list[Layer]:
    """Every layer, numbered as run.json lists them."""
    energies = _energies(statistics)
    return [
        Layer(
            index=k,
            network=layer["network"],
            name=short_name(layer["name"]),
            full_name=layer["name"],
            kind=kind_words(layer["kind"]),
            tiles=layer["tiles"],
            macs=layer["macs"],
            start_cycle=layer["start_cycle"],
            cycles=layer["cycles"],
            of_run=layer["cycles"] / max(1, statistics["cycles"]),
            in_use=layer["mac_utilisation"],
            bound_by=layer["bound_by"],
            breakdown=layer["breakdown"],
            entered=_entered(layer["bytes"]),
            carried=_carried(layer["bytes"]),
            energy_pj=energy and energy["total_pj"],
            action_bytes=_action_bytes(energy),
        )
        for k, (layer, energy) in enumerate(zip(statistics["layers"], energies, strict=True))
    ]


def beside(statistics: RunStatistics, of_layers: Sequence[Layer]) -> Layer:
    """What belongs to the run and to no layer: with it, MAC arrays' cycles, bytes and energy are the run's."""
    whole = total(statistics)
    energy = statistics.get("energy")
    outside = energy and energy["outside_layers"]
    rest = {
        name: _rest(getattr(whole, name), [getattr(layer, name) for layer in of_layers])
        for name in ("breakdown", "entered", "carried")
    }
    return Layer(
        index=None,
        network="",
        name="beside layers",
        full_name="beside layers",
        kind="",
        tiles=0,
        macs=whole.macs - sum(layer.macs for layer in of_layers),
        start_cycle=0,
        cycles=0,
        of_run=0.0,
        in_use=0.0,
        bound_by=None,
        energy_pj=outside and outside["total_pj"],
        action_bytes=_action_bytes(outside),
        **rest,
    )


def total(statistics: RunStatistics) -> Layer:
    """The run as a whole, as run.json has it."""
    energy = statistics.get("energy")
    return Layer(
        index=None,
        network=statistics["network"],
        name="run",
        full_name="run",
        kind="",
        tiles=len(mac_arrays(statistics)),
        macs=statistics["macs"],
        start_cycle=0,
        cycles=statistics["cycles"],
        of_run=1.0,
        in_use=statistics["mac_utilisation"],
        bound_by=statistics["bound_by"],
        breakdown=statistics["breakdown"],
        entered=_entered(statistics["bytes"]),
        carried=_carried(statistics["bytes"]),
        energy_pj=energy and energy["total_pj"],
        action_bytes=_action_bytes(energy),
    )


def causes(statistics: RunStatistics) -> list[str]:
    """The causes that occur, in the order in which they are explained, unexplained ones last."""
    occur = set(statistics["breakdown"])
    return [*(cause for cause in CAUSES if cause in occur), *sorted(occur - CAUSES.keys())]


def explained(cause: str) -> str:
    """A cause in words."""
    return CAUSES.get(cause) or WAITS.get(cause) or cause_words(cause)


def _energies(statistics: RunStatistics) -> Sequence[LayerEnergy | None]:
    """What run.json says of each layer's energy, which it need not say anything of."""
    energy = statistics.get("energy")
    return energy["layers"] if energy else [None] * len(statistics["layers"])


def _action_bytes(energy: LayerEnergy | EnergyStatistics | None) -> dict[str, int]:
    return {name: action["bytes"] for name, action in energy["actions"].items()} if energy else {}


def _entered(buses: BytesByBus) -> dict[str, int]:
    return {bus: moved["entered"] for bus, moved in buses.items()}


def _carried(buses: BytesByBus) -> dict[str, int]:
    return {bus: moved["carried"] for bus, moved in buses.items()}


def _rest(whole: Mapping[str, int], parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    rest = {name: amount - sum(part.get(name, 0) for part in parts) for name, amount in whole.items()}
    return {name: amount for name, amount in rest.items() if amount}

"""The layers of a run, and where its time went: how long, how well used, bound by what, bytes, energy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tilesim.registry import description_of
from tilesim.report.words import BUSY_ARRAY, cause_words, kind_words, short_name
from tilesim.statistics import EnergyStatistics, LayerEnergy, LayerStatistics, RunStatistics, UnitStatistics

Cycles: TypeAlias = dict[str, float]
"""Cycles of the average MAC array, by cause."""
OTHER = "other"
"""Behind cycles of a run whose causes its machine does not tell."""
BESIDE = "outside layers"
"""What belongs to the run and to no layer."""
DEFINITIONS: Mapping[str, str] = {
    "tiles": "How many of the chip's MAC arrays it is spread over.",
    "cycles": (
        "Those of the average MAC array for the layer, waits included: a cycle of an array belongs to one layer at "
        "most, so that all rows together are the run's cycles."
    ),
    "of run": "Its cycles divided by the run's.",
    "in use": "MACs divided by what the MAC arrays could do in its cycles.",
    "bound by": (
        "The cause that most of the MAC arrays' cycles for the layer went into. Where that is that they were busy: how "
        "many of an array's MACs the layer used in such a cycle (4/256 MACs), or MAC array if it does none."
    ),
    "lasted": (
        "From its first step to its last result; the start counts from the run's first cycle. Layers may overlap. Of "
        "several inferences it is the sum, and the start is the first."
    ),
    BESIDE: "Cycles of MAC arrays that belong to no layer.",
    "bytes": "What the layer's instructions put on each bus, counted once, where it enters.",
    "energy": "Counted actions times the energy of each in the run's table.",
}
"""What the columns are, where the machine does not say more of them."""


def definitions(statistics: RunStatistics) -> dict[str, str]:
    """What the columns are for the machine of a run."""
    return {**DEFINITIONS, **description_of(statistics["machine"]).columns}


@dataclass(frozen=True)
class LayerRow:
    """A layer of a run, or what adds up to the run beside all layers (``index`` None).

    ``name`` is what tells it from others, ``full_name`` what the model calls it. ``cycles`` is from its first step to
    its last result; ``array_cycles`` are those of the average MAC array, which together are the run's: ``of_run`` and
    ``in_use`` are of these. ``bound_words`` say what bounds it. ``breakdown``: cycles of MAC arrays by cause.
    ``entered`` and ``carried``: bytes by bus, counted once or on each link. ``energy_pj`` is None where nobody counted
    it, and ``action_bytes``, the bytes of each action that was counted, is empty.
    """

    index: int | None = None
    network: str = ""
    name: str = ""
    full_name: str = ""
    kind: str = ""
    tiles: int = 0
    macs: int = 0
    start_cycle: int = 0
    cycles: int = 0
    array_cycles: int = 0
    of_run: float = 0.0
    in_use: float = 0.0
    bound_by: str | None = None
    bound_words: str = "-"
    breakdown: Mapping[str, int] = field(default_factory=dict)
    entered: Mapping[str, int] = field(default_factory=dict)
    carried: Mapping[str, int] = field(default_factory=dict)
    energy_pj: float | None = None
    action_bytes: Mapping[str, int] = field(default_factory=dict)


def layers(statistics: RunStatistics) -> list[LayerRow]:
    """Every layer, numbered as run.json lists them."""
    energies, cycles = _energies(statistics), array_cycles(statistics)
    return [
        replace(
            _row(layer, energy, statistics),
            index=k,
            name=short_name(layer["name"]),
            full_name=layer["name"],
            kind=kind_words(layer["kind"]),
            tiles=layer["tiles"],
            start_cycle=layer["start_cycle"],
            bound_words=bound_words(layer, statistics),
            array_cycles=cycles[k],
        )
        for k, (layer, energy) in enumerate(zip(statistics["layers"], energies, strict=True))
    ]


def beside(statistics: RunStatistics, of_layers: Sequence[LayerRow]) -> LayerRow:
    """What belongs to the run and to no layer: with it, MAC arrays' cycles, bytes and energy are the run's."""
    whole = total(statistics)
    energy = statistics.get("energy")
    outside_layers = energy and energy["outside_layers"]
    breakdown = _rest(whole.breakdown, [layer.breakdown for layer in of_layers])
    bound_by = max(breakdown, key=lambda cause: (breakdown[cause], cause), default=None)
    return LayerRow(
        name=BESIDE,
        full_name=BESIDE,
        macs=whole.macs - sum(layer.macs for layer in of_layers),
        array_cycles=array_cycles(statistics)[-1],
        of_run=1 - sum(layer.of_run for layer in of_layers),
        bound_by=bound_by,
        bound_words=short_cause(bound_by, statistics),
        breakdown=breakdown,
        entered=_rest(whole.entered, [layer.entered for layer in of_layers]),
        carried=_rest(whole.carried, [layer.carried for layer in of_layers]),
        energy_pj=outside_layers and outside_layers["total_pj"],
        action_bytes=_action_bytes(outside_layers),
    )


def total(statistics: RunStatistics) -> LayerRow:
    """The run as a whole, as run.json has it."""
    row, tiles = _row(statistics, statistics.get("energy"), statistics), len(mac_arrays(statistics))
    return replace(
        row,
        name="run",
        full_name="run",
        tiles=tiles,
        array_cycles=statistics["cycles"],
        of_run=1.0,
        in_use=statistics["mac_utilisation"],
        bound_words=run_bound_words(statistics),
    )


def array_cycles(statistics: RunStatistics) -> list[int]:
    """Whole cycles of the average MAC array that each layer takes and, last, what belongs to none: together they are
    the run's, for so many of the largest fractions are rounded up as that takes.
    """
    count = arrays(statistics)
    parts = [sum(layer["breakdown"].values()) for layer in statistics["layers"]]
    parts.append(statistics["cycles"] * count - sum(parts))
    whole = [part // count for part in parts]
    largest = sorted(range(len(parts)), key=lambda place: -(parts[place] % count))
    for place in largest[: statistics["cycles"] - sum(whole)]:
        whole[place] += 1
    return whole


def _row(
    part: LayerStatistics | RunStatistics, energy: LayerEnergy | EnergyStatistics | None, run: RunStatistics
) -> LayerRow:
    """What run.json says alike of a layer and of the whole ``run``."""
    taken, macs = sum(part["breakdown"].values()), macs_per_array(run)
    return LayerRow(
        network=part["network"],
        macs=part["macs"],
        cycles=part["cycles"],
        of_run=taken / max(1, run["cycles"] * arrays(run)),
        in_use=part["macs"] / (taken * macs) if taken and macs else 0.0,
        bound_by=part["bound_by"],
        breakdown=part["breakdown"],
        entered={bus: moved["entered"] for bus, moved in part["bytes"].items()},
        carried={bus: moved["carried"] for bus, moved in part["bytes"].items()},
        energy_pj=energy and energy["total_pj"],
        action_bytes=_action_bytes(energy),
    )


def causes(statistics: RunStatistics) -> dict[str, str]:
    """The causes that occur, with what they mean, in the order in which the machine explains them, others last."""
    known, occur = description_of(statistics["machine"]).causes, statistics["breakdown"]
    explained = {cause: known[cause].meaning for cause in known if cause in occur}
    return explained | {cause: cause_words(cause) for cause in sorted(occur) if cause not in known}


def _energies(statistics: RunStatistics) -> Sequence[LayerEnergy | None]:
    """What run.json says of each layer's energy, which it need not say anything of."""
    energy = statistics.get("energy")
    return energy["layers"] if energy else [None] * len(statistics["layers"])


def _action_bytes(energy: LayerEnergy | EnergyStatistics | None) -> dict[str, int]:
    return {name: action["bytes"] for name, action in energy["actions"].items()} if energy else {}


def _rest(whole: Mapping[str, int], parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    rest = {name: amount - sum(part.get(name, 0) for part in parts) for name, amount in whole.items()}
    return {name: amount for name, amount in rest.items() if amount}


# ---- what bounds a layer, in words


def short_cause(cause: str | None, run: RunStatistics) -> str:
    """A cause of a ``run`` in a table."""
    known = description_of(run["machine"]).causes.get(cause or "")
    return (known and known.short) or cause_words(cause)


def macs_per_array(run: RunStatistics) -> int:
    """What each MAC array can do in a cycle; 0 of a run without MACs, or whose use of them nobody knows."""
    could_do = run["mac_utilisation"] * run["cycles"] * arrays(run)
    return round(run["macs"] / could_do) if could_do else 0


def bound_words(layer: LayerStatistics, run: RunStatistics) -> str:
    """What bounds a layer of a ``run``: where MAC arrays are busy most of the time, how many MACs of one of them it
    uses in such a cycle, such as ``4/256 MACs``.
    """
    return _bound_words(layer["bound_by"], layer["macs"], layer["mac_busy_cycles"], run)


def run_bound_words(run: RunStatistics) -> str:
    """What bounds a whole run, in the words of its layers."""
    busy = sum(layer["mac_busy_cycles"] for layer in run["layers"])
    return _bound_words(run["bound_by"], run["macs"], busy, run)


def _bound_words(cause: str | None, macs: int, busy_cycles: int, run: RunStatistics) -> str:
    most = macs_per_array(run)
    if cause is None or not computes(cause, run):
        return short_cause(cause, run)
    if not (macs and busy_cycles and most):
        return BUSY_ARRAY
    used = macs / busy_cycles
    return f"{f'{used:,.0f}' if used >= 10 else f'{used:.2g}'}/{most:,} MACs"


# ---- where the time went, as seen from the MAC arrays, the part that a chip is built around


def mac_arrays(statistics: RunStatistics) -> list[UnitStatistics]:
    """The accounts of all MAC arrays; none of a machine that does not say which they are."""
    ending = description_of(statistics["machine"]).mac_arrays
    return [unit for unit in statistics["units"] if ending and unit["track"].endswith(ending)]


def working(statistics: RunStatistics) -> list[UnitStatistics]:
    """The accounts of the MAC arrays that have anything to do."""
    return [unit for unit in mac_arrays(statistics) if unit["busy_cycles"]]


def wait_words(cause: str, statistics: RunStatistics) -> str:
    """What MAC arrays wait for in the cycles that a ``cause`` has; nothing where they compute."""
    known = description_of(statistics["machine"]).causes.get(cause)
    return known.wait if known else f"waiting for {cause}"


def computes(cause: str, statistics: RunStatistics) -> bool:
    """Whether MAC arrays compute in the cycles that a ``cause`` has."""
    return not wait_words(cause, statistics)


def costs(statistics: RunStatistics) -> list[tuple[int, str]]:
    """Everything that the cycles of the run went into, the largest first: cycles of the average MAC array, and what it
    was; together they are the run.
    """
    arrays, totals = mac_arrays(statistics), Counter[str]()
    for cause, cycles in statistics["breakdown"].items():
        if wait := wait_words(cause, statistics):
            totals[wait] += cycles
    for what, busy in _computing(statistics["layers"]):
        totals[what] += busy
    means = ((round(total / max(1, len(arrays))), what) for what, total in totals.items())
    return sorted((mean for mean in means if mean[0]), key=lambda mean: (-mean[0], mean[1]))


def _computing(layers: list[LayerStatistics]) -> Iterator[tuple[str, int]]:
    """For each kind of layer: words, and the cycles in which MAC arrays were busy with it."""
    for kind in dict.fromkeys(layer["kind"] for layer in layers):
        ours = [layer for layer in layers if layer["kind"] == kind and layer["mac_busy_cycles"]]
        busy = sum(layer["mac_busy_cycles"] for layer in ours)
        full = sum(layer["mac_utilisation"] * layer["cycles"] * layer["tiles"] for layer in ours)
        use = f", {full / busy:.0%} of the MACs in use" if full else ""
        yield f"computing {len(ours)} {kind_words(kind)} {'layer' if len(ours) == 1 else 'layers'}{use}", busy


def arrays(run: RunStatistics) -> int:
    """The MAC arrays of a run's chip, over which cycles by cause are averaged."""
    return max(1, len(mac_arrays(run)))


def spent(run: RunStatistics) -> Cycles:
    """What the cycles of a run went into, as its average MAC array has it: together they are the run."""
    told = share_of(run, run)
    rest = run["cycles"] * arrays(run) - sum(run["breakdown"].values())
    return {**told, OTHER: rest / arrays(run)} if rest else told


def share_of(layer: LayerStatistics | RunStatistics, run: RunStatistics) -> Cycles:
    """A layer's part of :func:`spent`; those of all layers and :func:`outside` together are the run."""
    return {cause: cycles / arrays(run) for cause, cycles in layer["breakdown"].items()}


def outside(run: RunStatistics) -> Cycles:
    """The part of :func:`spent` that belongs to no layer."""
    cycles: Counter[str] = Counter(run["breakdown"])
    for layer in run["layers"]:
        cycles.subtract(layer["breakdown"])
    rest = spent(run).get(OTHER, 0.0)
    return {cause: n / arrays(run) for cause, n in cycles.items() if n} | ({OTHER: rest} if rest else {})

"""What each key of a chip is worth: a run, and the same run with one key set otherwise at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import log
from typing import Literal

from typing_extensions import TypedDict  # of typing's own, pydantic reads that of Python 3.12 and later only

from tilesim.errors import InputError, refuse
from tilesim.explore.point import Value
from tilesim.explore.row import Measures, Row, Status
from tilesim.explore.sensitivity import Factor, Sensitivity, StepRow
from tilesim.machines.topology import Key, spelt
from tilesim.printable import counted
from tilesim.report.document import invalid, shown

SCHEMA = "tilesim.sensitivity/1"
Measure = Literal["time", "cycles", "energy"]
MEASURES: tuple[Measure, ...] = ("time", "cycles", "energy")
"""What a step is judged by: of each, less is better."""
MOST_SENTENCES = 2
"""Why a step did not run; a network of many layers may have one for each."""
_PLACE = re.compile(r"^.*?:\d+:\d+: ")


class SensitivityBase(TypedDict):
    """The run that all steps are compared with."""

    inferences: int
    """How many inferences the run is of."""
    time_us: float
    """What all of them take, in microseconds."""
    cycles: int
    """The same in cycles."""
    energy_pj: float
    """Dynamic energy in picojoules."""
    area_mm2: float
    """Square millimetres of the chip: a proxy."""
    mac_utilisation: float
    """MACs by those that the chip could do in that time."""
    bound_by: str | None
    """The cause that most cycles of the MAC arrays went into."""
    command: str
    """What repeats it."""


class SensitivityStep(TypedDict):
    """A run with one key set otherwise."""

    key: str
    """A key of the chip, dotted; or an option: ``partition``, ``cache``."""
    base: Value
    """What the base has there."""
    value: Value
    """What this run has there."""
    status: Status
    """Whether it ran."""
    reason: str
    """Why it did not; empty if it did."""
    time_us: float | None
    """As of the base; None if it did not run."""
    cycles: int | None
    """As of the base; None if it did not run."""
    energy_pj: float | None
    """As of the base; None if it did not run."""
    area_mm2: float | None
    """As of the base; None of a chip that can't be."""
    time_ratio: float | None
    """``time_us`` by the base's: 0.5 is twice as fast."""
    cycles_ratio: float | None
    """``cycles`` by the base's."""
    energy_ratio: float | None
    """``energy_pj`` by the base's."""
    area_ratio: float | None
    """``area_mm2`` by the base's."""
    command: str
    """What repeats it."""


class SensitivityKey(TypedDict):
    """A key of the chip, or an option."""

    key: str
    """Its name."""
    value: Value
    """What the base has there."""
    meaning: str
    """What it says."""
    unstepped: str
    """Why it has no step, or one only; empty of another."""


class SensitivityDocument(TypedDict):
    """A run, and what becomes of it if one key of the chip at a time is set otherwise."""

    schema: str
    """``tilesim.sensitivity/1``."""
    network: str
    """Name of the network."""
    topology: str
    """Name of the chip."""
    machine: str
    """The kind of machine."""
    base: SensitivityBase
    """The run as it is."""
    steps: list[SensitivityStep]
    """The other runs: those of the key whose steps change the time most come first, small values before large ones."""
    keys: list[SensitivityKey]
    """What was stepped, in the same order."""


def sensitivity_document(measured: Sensitivity) -> SensitivityDocument:
    """The rows of steps against the base."""
    row, base = measured.base, _base(measured.base)
    of_key = {factor.key: factor for factor in measured.factors}
    steps: dict[str, list[SensitivityStep]] = {key: [] for key in of_key}
    for step in measured.steps:
        steps[step.key].append(_step(of_key[step.key], step, base))
    ordered = sorted(measured.factors, key=lambda factor: _rank(steps[factor.key]))
    return {
        "schema": SCHEMA,
        "network": row["network"],
        "topology": row["topology"],
        "machine": row["machine"],
        "base": base,
        "steps": [step for factor in ordered for step in steps[factor.key]],
        "keys": [
            {"key": each.key, "value": each.value, "meaning": each.meaning, "unstepped": each.unstepped}
            for each in ordered
        ],
    }


def must_be_sensitivity(document: object) -> None:
    """Raises InputError, all faults at once, for what :func:`sensitivity_document` has not made."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InputError(
            f"a sensitivity must be what tilesim.sensitivity returns, of schema {SCHEMA!r}, not {shown(document)}"
        )
    refuse(invalid(SensitivityDocument, document, "sensitivity"))


# ---- how much a key changes


def ratio(step: SensitivityStep, measure: Measure) -> float | None:
    """What a step is by the base; None if it did not run."""
    return {"time": step["time_ratio"], "cycles": step["cycles_ratio"], "energy": step["energy_ratio"]}[measure]


def effect(steps: Iterable[SensitivityStep], measure: Measure) -> float:
    """The most that any of the steps changes a measure, up or down: twice as much and half as much are the same."""
    ratios = (ratio(step, measure) for step in steps)
    return max((abs(log(each)) for each in ratios if each), default=0.0)


def matters(steps: Iterable[SensitivityStep]) -> bool:
    """Whether any of the steps changes any measure."""
    return any(ratio(step, measure) not in (None, 1.0) for step in steps for measure in MEASURES)


def by_key(document: SensitivityDocument) -> list[tuple[SensitivityKey, list[SensitivityStep]]]:
    """The keys, each with its steps."""
    steps = {key: [*group] for key, group in groupby(document["steps"], lambda step: step["key"])}
    return [(key, steps.get(key["key"], [])) for key in document["keys"]]


def _rank(steps: Sequence[SensitivityStep]) -> tuple[float, ...]:
    """Sorts the largest effect on time first, then on the other measures."""
    return tuple(-effect(steps, measure) for measure in MEASURES)


# ---- in words


def value_words(key: str, value: Value) -> str:
    """A value of a key as YAML may spell it, in units where it has some."""
    return spelt(Key(key, value, ""))


def change_words(ratio: float | None) -> str:
    """By how much of the base a step is more or less, such as ``+61.0%``; 0 where it is the same, ``-`` where nobody
    knows.
    """
    if ratio is None:
        return "-"
    return "0" if ratio == 1 else f"{ratio - 1:+.1%}" if ratio < 2 else f"{ratio - 1:+,.0%}"


def counts_words(document: SensitivityDocument) -> str:
    """How many steps of how many keys there are, and what came of them."""
    each = by_key(document)
    effective = sum(matters(steps) for _, steps in each)
    words = [f"{counted(len(document['steps']), 'step')} of {counted(len(each), 'key')}", f"{effective} with an effect"]
    statuses = Counter(step["status"] for step in document["steps"])
    words += [f"{counted(statuses[of], 'step')} {of}" for of in ("refused", "failed") if statuses[of]]
    return ", ".join(words)


# ---- the parts of the document


def _base(row: Row) -> SensitivityBase:
    measures = row["measures"]
    if measures is None:
        raise ValueError(f"the base must have run: {row['reason']}")
    return {
        "inferences": int(row["options"]["inferences"]),
        "time_us": _time_us(row, measures),
        "cycles": measures["cycles"],
        "energy_pj": measures["energy_pj"],
        "area_mm2": sum(row["area"].values()),
        "mac_utilisation": measures["mac_utilisation"],
        "bound_by": measures["bound_by"],
        "command": row["command"],
    }


def _time_us(row: Row, measures: Measures) -> float:
    return measures["cycles"] * 1e6 / int(row["chip"]["clock_hz"])


def _step(factor: Factor, step: StepRow, base: SensitivityBase) -> SensitivityStep:
    row, measures = step.row, step.row["measures"]
    time_us = None if measures is None else _time_us(row, measures)
    cycles = None if measures is None else measures["cycles"]
    energy_pj = None if measures is None else measures["energy_pj"]
    area_mm2 = sum(row["area"].values()) if row["area"] else None
    return {
        "key": factor.key,
        "base": factor.value,
        "value": step.value,
        "status": row["status"],
        "reason": _reason(row, f"--set {step.key}={step.value}: "),
        "time_us": time_us,
        "cycles": cycles,
        "energy_pj": energy_pj,
        "area_mm2": area_mm2,
        "time_ratio": _by(time_us, base["time_us"]),
        "cycles_ratio": _by(cycles, base["cycles"]),
        "energy_ratio": _by(energy_pj, base["energy_pj"]),
        "area_ratio": _by(area_mm2, base["area_mm2"]),
        "command": row["command"],
    }


def _reason(row: Row, step: str) -> str:
    """Why a row did not run, without what its sentences begin with: the step, places in the file of the chip, names."""
    whose = f"{row['network']} on {row['topology']}: ", f"{row['topology']}: "
    sentences = [_PLACE.sub("", line).removeprefix(step) for line in row["reason"].splitlines()]
    for name in whose:
        sentences = [sentence.removeprefix(name) for sentence in sentences]
    more = len(sentences) - MOST_SENTENCES
    return "; ".join([*sentences[:MOST_SENTENCES], *([f"and {more} more"] if more > 0 else [])])


def _by(value: float | None, base: float) -> float | None:
    """None too where the base has nothing to compare with."""
    return value / base if value is not None and base else None

"""Which keys of a chip may be fitted, and which values they take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

from tilesim.errors import refuse
from tilesim.explore.calibration.cases import Cases
from tilesim.explore.conditions.names import OPTIONS
from tilesim.explore.sensitivity import takes
from tilesim.machines.topology import Key, Topology
from tilesim.machines.topology import keys as keys_of
from tilesim.printable import alternatives, short, unknown

STATED = re.compile(r"_(?:bytes|per_second|per_cycle|cycles|ns|hz|per_element)$")
"""How the names of keys end that are rates, times or sizes."""
Number = int | float


@dataclass(frozen=True)
class FittedKey:
    """A key that is fitted: which values it may have."""

    key: str
    value: Number
    """The chip's."""
    meaning: str
    grain: int = 0
    """It is a multiple of this; 0: any number."""
    powers: bool = False
    """Whether it is a power of two."""

    def nearest(self, value: float) -> Number:
        """The value that it may have, of those near this one."""
        if self.powers:
            return 1 << max(0, round(log2(value)))
        return max(1, round(value / self.grain)) * self.grain if self.grain else value

    def beside(self, value: Number, factor: float) -> Number:
        """The value that it may have near so many times this one, above it or below; the same where there is none."""
        if self.powers:
            return int(value) * 2 if factor > 1 else max(1, int(value) // 2)
        target = value * factor
        if not self.grain:
            return target
        steps = max(1, round(abs(target - value) / self.grain))
        return max(self.grain, int(value) + (steps if factor > 1 else -steps) * self.grain)


def fitted_keys(names: Sequence[str], chip: Topology, cases: Cases) -> list[FittedKey]:
    """The keys of these names.

    Raises:
        InputError: there is no such key; it is no rate, time or size, as data sheets state them; it has no value to
            begin from; a point's condition sets it; or there are fewer points to fit to than keys.
    """
    faults = [
        f"fit {name} must be given once, not {count} times" for name, count in Counter(names).items() if count > 1
    ]
    known = {key.key: key for key in keys_of(chip)}
    for name in dict.fromkeys(names):
        faults += (f"fit {short(name)}: {fault}" for fault in _faults(name, known, chip))
        faults += (
            f"{cases.where(case)}: condition {name} must be left out where {name} is fitted"
            for case in cases.every
            if name in case.published.condition
        )
    train = sum(case.published.use == "train" for case in cases.every)
    if train < len(set(names)):
        faults.append(
            f"{cases.table}: must have as many points to train with as keys are fitted, {len(set(names))}, not {train}"
        )
    refuse(faults)
    return [_fitted(known[name], chip) for name in names]


def _faults(name: str, known: dict[str, Key], chip: Topology) -> Iterator[str]:
    if name not in known:
        is_option = "must be a key of the chip: an option has no value to fit"
        yield is_option if name in OPTIONS else unknown(name, known, f"a key of {chip.name}")
        return
    value = known[name].value
    if isinstance(value, str | bool) or not STATED.search(name):
        yield (
            f"must be a rate, a time or a size, as data sheets state them, such as {alternatives(_examples(known))}; "
            "what is counted, named or chosen is not fitted"
        )
    elif value <= 0:
        yield f"must have a value above 0 to begin from, not {value}; --set gives it one"


def _examples(known: dict[str, Key]) -> list[str]:
    """Keys that may be fitted."""
    return [name for name in known if STATED.search(name)][:3]


def _fitted(key: Key, chip: Topology) -> FittedKey:
    value = key.value
    assert isinstance(value, int | float)
    if isinstance(value, float):
        return FittedKey(key.key, value, key.meaning)
    others = [3 * value, *([3 * value // 4] if value % 4 == 0 else [])]
    if value & (value - 1) == 0 and not any(takes(chip, key.key, other) for other in others):
        return FittedKey(key.key, value, key.meaning, 1, powers=True)
    grains = (1 << k for k in range(value.bit_length()))
    grain = next((grain for grain in grains if takes(chip, key.key, value + grain)), 1)
    return FittedKey(key.key, value, key.meaning, grain)

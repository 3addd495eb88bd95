"""What was set otherwise in some of several runs: keys of the chip, and what their programs were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from tilesim.statistics import RunStatistics

NAMES = ("name", "description")
"""Keys of a chip that say nothing of how it works."""


class Setting(TypedDict):
    """What runs differ in."""

    key: str
    """A key of the chip, or what the program was asked for."""
    values: list[str | None]
    """What each run has there, as YAML spells it; None where it has nothing."""


def differing(runs: Sequence[RunStatistics]) -> list[Setting]:
    """The settings in which runs differ."""
    of_runs = [dict(_settings(run)) for run in runs]
    keys = dict.fromkeys(key for settings in of_runs for key in settings)
    rows: list[Setting] = [{"key": key, "values": [settings.get(key) for settings in of_runs]} for key in keys]
    return [row for row in rows if len(set(row["values"])) > 1]


def _settings(run: RunStatistics) -> Iterator[tuple[str, str]]:
    yield from _flat(run["chip"])
    partition = run.get("partition")
    if partition and partition["asked"]:
        yield "partition", partition["asked"]
    homes = Counter(layer.get("parameters") or "" for layer in run["layers"])
    yield "parameters", ", ".join(f"{home}: {count}" for home, count in sorted(homes.items()) if home) or "none"


def _flat(section: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys with their values as YAML spells them."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif above or key not in NAMES:
            yield f"{above}{key}", str(value).lower() if isinstance(value, bool) else str(value)

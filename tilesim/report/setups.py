"""What was set otherwise in some of several runs: keys of the chip, and what their programs were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilesim.report.costs import Statistics

NAMES = ("name", "description")
"""Keys of a chip that say nothing of how it works."""


def differing(runs: Sequence[Statistics]) -> list[dict[str, Any]]:
    """The settings in which runs differ: each with its ``key``, and the ``values`` that it has, in words; none where a
    run does not have it.
    """
    found = [dict(_settings(run)) for run in runs]
    keys = dict.fromkeys(key for settings in found for key in settings)
    rows = [{"key": key, "values": [settings.get(key) for settings in found]} for key in keys]
    return [row for row in rows if len(set(row["values"])) > 1]


def _settings(run: Statistics) -> Iterator[tuple[str, str]]:
    yield from _flat(run["chip"])
    asked = run.get("partition") or {}
    if asked.get("asked"):
        yield "partition", str(asked["asked"])
    homes = Counter(layer.get("parameters") or "" for layer in run["layers"])
    yield "parameters", ", ".join(f"{home}: {count}" for home, count in sorted(homes.items()) if home) or "none"


def _flat(section: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys with their values as YAML spells them."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif above or key not in NAMES:
            yield f"{above}{key}", str(value).lower() if isinstance(value, bool) else str(value)

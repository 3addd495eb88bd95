"""The page that says what each key of a chip is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilesim.report.page.build import PageSection, page
from tilesim.report.sensitivity import (
    SensitivityDocument,
    SensitivityKey,
    SensitivityStep,
    by_key,
    change_words,
    counts_words,
    matters,
    value_words,
)
from tilesim.report.words import cause_words, energy_text
from tilesim.units import format_seconds


def sensitivity_page(document: SensitivityDocument) -> str:
    """The whole page, as HTML."""
    title = f"{document['network']} on {document['topology']}: what each key is worth"
    return page(title, f"{counts_words(document)}, one key at a time, as tilesim simulated them", sections(document))


def sections(document: SensitivityDocument) -> list[PageSection]:
    """The tornado of the keys that change anything, and in words those that don't, or can't be changed."""
    keys = by_key(document)
    tornado = {
        "command": document["base"]["command"],
        "figures": [{"name": name, "value": value} for name, value in _figures(document)],
        "keys": [_key(key, steps) for key, steps in keys if matters(steps)],
    }
    rest = {
        "idle": [_idle(key, steps) for key, steps in keys if not matters(steps) and _ran(steps)],
        "refused": [line for key, steps in keys for line in _refused(key, steps)],
        "unstepped": [
            {"key": key["key"], "value": value_words(key["key"], key["value"]), "reason": key["unstepped"]}
            for key, _ in keys
            if key["unstepped"]
        ],
    }
    return [
        PageSection("sensitivity", "What a step changes", tornado),
        PageSection("sensitivity_rest", "What changes nothing, and what can't be", rest),
    ]


def _figures(document: SensitivityDocument) -> Iterator[tuple[str, str]]:
    base = document["base"]
    several = f" for {base['inferences']:,} inferences" if base["inferences"] > 1 else ""
    yield "time", format_seconds(base["time_us"] / 1e6) + several
    yield "cycles", f"{base['cycles']:,}"
    yield "energy", energy_text(base["energy_pj"])
    yield "area, a proxy", f"{base['area_mm2']:,.3g} mm²"
    yield "MACs in use", f"{base['mac_utilisation']:.1%}"
    yield "bound by", cause_words(base["bound_by"])


def _key(key: SensitivityKey, steps: list[SensitivityStep]) -> dict[str, Any]:
    """A key with its steps in words; those that ran have numbers."""
    return {
        "key": key["key"],
        "value": value_words(key["key"], key["value"]),
        "meaning": key["meaning"],
        "unstepped": key["unstepped"],
        "steps": [_in_words(step) for step in steps],
    }


def _in_words(step: SensitivityStep) -> dict[str, Any]:
    time_us, energy_pj, area_mm2 = step["time_us"], step["energy_pj"], step["area_mm2"]
    return {
        "value": value_words(step["key"], step["value"]),
        "status": step["status"],
        "reason": step["reason"],
        "command": step["command"],
        "ratios": {
            "time": step["time_ratio"],
            "cycles": step["cycles_ratio"],
            "energy": step["energy_ratio"],
            "area": step["area_ratio"],
        },
        "words": {
            "time": "" if time_us is None else format_seconds(time_us / 1e6),
            "cycles": "" if step["cycles"] is None else f"{step['cycles']:,}",
            "energy": "" if energy_pj is None else energy_text(energy_pj),
            "area": "" if area_mm2 is None else f"{area_mm2:,.3g} mm²",
        },
    }


def _idle(key: SensitivityKey, steps: list[SensitivityStep]) -> dict[str, str]:
    tried = [f"{value_words(s['key'], s['value'])}{_area(s)}" for s in steps if s["status"] == "ran"]
    return {"key": key["key"], "value": value_words(key["key"], key["value"]), "tried": ", ".join(tried)}


def _area(step: SensitivityStep) -> str:
    """What a step that changes nothing else costs or saves."""
    words = change_words(step["area_ratio"]).replace("-", "\N{MINUS SIGN}").replace("%", " %")
    return "" if step["area_ratio"] in (None, 1.0) else f" (area {words})"


def _refused(key: SensitivityKey, steps: list[SensitivityStep]) -> Iterator[dict[str, str]]:
    value = value_words(key["key"], key["value"])
    for step in steps:
        if step["status"] != "ran":
            tried = value_words(step["key"], step["value"])
            yield {
                "key": key["key"],
                "value": value,
                "tried": tried,
                "status": step["status"],
                "reason": step["reason"],
            }


def _ran(steps: list[SensitivityStep]) -> bool:
    return any(step["status"] == "ran" for step in steps)

"""The roofline of the chip, with the layers on it."""

from __future__ import annotations

from typing import Any

from tilesim.report.analysis.layers import explained, layers
from tilesim.report.analysis.roofline import DEFINITION, Roof, Roofline, rooflines
from tilesim.report.costs import cause_words
from tilesim.report.document import SavedRun
from tilesim.report.page.build import Section

NONE = "There is no roofline: no layer does MACs, or nobody has described the roofs of this kind of chip."


def roofline(run: SavedRun) -> Section:
    """The section of the rooflines, one for each intensity that any layer has."""
    lines = rooflines(run.statistics, layers(run.statistics))
    bounds = dict.fromkeys(dot.layer.bound_by or "" for line in lines[:1] for dot in line.dots)
    data = {
        "rooflines": [_roofline(line) for line in lines],
        "causes": [{"name": name, "words": cause_words(name), "sentence": explained(name)} for name in bounds],
        "definition": DEFINITION,
        "note": "" if lines else NONE,
    }
    return Section("roofline", "Roofline", data)


def _roofline(line: Roofline) -> dict[str, Any]:
    return {
        "words": line.words,
        "peaks": [_roof(peak) for peak in line.peaks],
        "roof": _roof(line.roof),
        "dots": [
            {
                "index": dot.layer.index, "name": dot.layer.name, "kind": dot.layer.kind, "macs": dot.layer.macs,
                "bytes": dot.bytes, "start": dot.layer.start_cycle,
                "cycles": dot.layer.cycles, "bound_by": dot.layer.bound_by or "", "intensity": dot.intensity,
                "achieved": dot.achieved,
                "attainable": None if dot.intensity is None else line.attainable(dot.intensity),
            }
            for dot in line.dots
        ],
    }  # fmt: skip


def _roof(roof: Roof) -> dict[str, Any]:
    return {"words": roof.words, "per_second": roof.per_second}

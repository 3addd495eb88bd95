"""The layers of a run, a row each."""

from __future__ import annotations

from dataclasses import asdict

from tilesim.report.analysis.layers import beside, causes, definitions, explained, layers, total
from tilesim.report.costs import cause_words
from tilesim.report.document import SavedRun
from tilesim.report.page.build import Section

NO_LAYERS = "This program has no layers: nobody compiled it from a network."


def layer_table(run: SavedRun) -> Section:
    """The section of the layers; with what is beside them, they add up to the run."""
    statistics = run.statistics
    found = layers(statistics)
    rest, whole = beside(statistics, found), total(statistics)
    data = {
        "layers": [asdict(layer) for layer in found],
        "beside": asdict(rest),
        "run": asdict(whole),
        "buses": list(whole.entered),
        "networks": len({layer.network for layer in found}),
        "causes": [
            {"name": cause, "words": cause_words(cause), "sentence": explained(cause)} for cause in causes(statistics)
        ],
        "definitions": definitions(statistics),
        "note": "" if found else NO_LAYERS,
    }
    return Section("layers", "Layers", data)

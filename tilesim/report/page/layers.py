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
    of_layers = layers(statistics)
    rest, whole = beside(statistics, of_layers), total(statistics)
    data = {
        "layers": [asdict(layer) for layer in of_layers],
        "beside": asdict(rest),
        "run": asdict(whole),
        "buses": list(whole.entered),
        "networks": len({layer.network for layer in of_layers}),
        "causes": [
            {"name": cause, "words": cause_words(cause), "sentence": explained(cause)} for cause in causes(statistics)
        ],
        "definitions": definitions(statistics),
        "note": "" if of_layers else NO_LAYERS,
    }
    return Section("layers", "Layers", data)

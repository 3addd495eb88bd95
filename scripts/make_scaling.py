"""Bring the table in the guide up to date that says how three models scale over 1 to 64 tiles.

The table stands between ``<!-- scaling -->`` and ``<!-- /scaling -->``. The models are those of the folder that
``TILESIM_MODELS`` names, or of ``../shared/models`` beside the project.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tilesim
from tilesim.errors import CapacityError
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.report.analysis.speed import efficiency, speed_up
from tilesim.statistics import RunStatistics

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "tilesim" / "guide" / "chips.md"
MODELS = {"keyword spotting": "mlperf_kws_dscnn", "ResNet-8": "mlperf_resnet8", "visual wake words": "mlperf_vww_mnv1"}
TOPOLOGIES = ("edge-1x1", "edge-1x2", "edge-2x2", "edge-2x4", "edge-4x4", "edge-8x8")
PLACE = re.compile(r"(?<=<!-- scaling -->\n).*?(?=<!-- /scaling -->)", re.DOTALL)


def rewritten(text: str, models: Path) -> str:
    """``text`` with the table as it is today; ``models`` is the folder that holds each model's."""
    return PLACE.sub(lambda _: table(models), text)


def table(models: Path) -> str:
    """Cycles, speed-up over the first chip and efficiency of each model on each chip, as a Markdown table."""
    chips = [tilesim.load_topology(name) for name in TOPOLOGIES]
    columns = [list(_cells(models / folder / "model.tflite", chips)) for folder in MODELS.values()]
    lines = [("topology", "tiles", *MODELS), ("---", *("---:" for _ in range(1 + len(MODELS))))]
    lines += [(chip.name, str(chip.tiles), *cells) for chip, *cells in zip(chips, *columns, strict=True)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(model: Path, chips: list[Topology]) -> Iterator[str]:
    network = tilesim.load_network(model)
    first: RunStatistics | None = None
    for chip in chips:
        found = _statistics(network, chip)
        first = first or found
        yield _cell(first, found)


def _statistics(network: Network, chip: Topology) -> RunStatistics | None:
    """A run's; None if the network does not fit."""
    try:
        program = tilesim.compile(network, chip)
    except CapacityError:
        return None
    return tilesim.simulate(program, [np.zeros(each.shape, each.dtype) for each in program.inputs]).statistics


def _cell(first: RunStatistics | None, found: RunStatistics | None) -> str:
    if first is None or found is None:
        return "does not fit"
    return f"{found['cycles']:,} ({speed_up(found, first):.2f} x, {efficiency(found, first):.0%})"


def main() -> None:
    """Rewrite the page."""
    models = Path(os.environ.get("TILESIM_MODELS") or ROOT.parent / "shared" / "models")
    if not models.is_dir():
        sys.exit(f"{models}: there is no such folder; TILESIM_MODELS must name the one that holds the models")
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), models), encoding="utf-8")


if __name__ == "__main__":
    main()

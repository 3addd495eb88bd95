"""Tables of points that the pocket chip itself has made, and what is fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tilesim
from tilesim.explore.api import opened
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task
from tilesim.explore.calibration.calibrate import Calibration, calibrated
from tilesim.explore.calibration.cases import read_cases
from tilesim.explore.calibration.keys import fitted_keys
from tilesim.explore.row import Row
from tilesim.explore.running.sweeping import Group, Timed, alone
from tilesim.explore.sensitivity import sweeping

CHIP = "pocket-2x1"
TITLES = "model,condition,value,unit,use\n"


def measured(model: str, **changes: object) -> tilesim.Run:
    """A run on the pocket chip, changed."""
    chip = tilesim.load_topology(CHIP, {key.replace("__", "."): value for key, value in changes.items()})
    return tilesim.simulate(tilesim.compile(tilesim.load_network(model), chip))


def calibration(folder: Path, lines: Sequence[str], *keys: str, chip: str = CHIP) -> Calibration:
    """What comes of a table, all run in this process."""
    path = folder / "points.csv"
    path.write_text(TITLES + "\n".join(lines))
    cases = read_cases(path, chip)
    bench = Bench(cases.networks)

    def crew(groups: Sequence[Group]) -> list[Timed]:
        return [*alone(groups, bench)]

    with opened(None) as store:
        run = sweeping(store, bench, crew)  # type: ignore[arg-type]

        def counted(wanted: Sequence[Task]) -> Sequence[Row]:
            return [*run(wanted)]

        return calibrated(cases, fitted_keys(keys, tilesim.load_topology(chip), cases) if keys else [], counted)

"""A convolution in SCALE-Sim, in that package's own environment: prints its record as JSON.

Only that environment's packages are there, and it writes its reports into the folder that it stands in.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

CONFIGURATION = """
[general]
run_name = run
[architecture_presets]
ArrayHeight = {array}
ArrayWidth = {array}
IfmapSramSzkB = {map_kibibytes}
FilterSramSzkB = {filter_kibibytes}
OfmapSramSzkB = {map_kibibytes}
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Dataflow = ws
ReadRequestBuffer = 32
WriteRequestBuffer = 32
[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = false
[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""


def main(arguments: str) -> None:
    """Run a layer of ``pixels`` x ``pixels``, ``channels`` and ``filters``; its ``kernel`` keeps the map's size."""
    given = json.loads(arguments)
    with TemporaryDirectory() as folder:
        print(json.dumps(_run(Path(folder), given)))


def _run(folder: Path, given: dict[str, int]) -> dict[str, float]:
    from scalesim.scale_sim import scalesim

    padded = given["pixels"] + given["kernel"] - 1
    layer = [padded, padded, given["kernel"], given["kernel"], given["channels"], given["filters"], 1]
    (folder / "chip.cfg").write_text(CONFIGURATION.format(**given))
    (folder / "layers.csv").write_text(_table(layer))
    (folder / "layout.csv").write_text(_table([1] * 20))  # not used, but it must be there
    files = {"config": "chip.cfg", "topology": "layers.csv", "layout": "layout.csv"}
    simulator = scalesim(
        save_disk_space=True, verbose=False, **{key: str(folder / name) for key, name in files.items()}
    )
    wall, processor = time.perf_counter(), time.process_time()
    simulator.run_scale(top_path=str(folder))
    seconds, wall_seconds = time.process_time() - processor, time.perf_counter() - wall
    with (folder / "run" / "COMPUTE_REPORT.csv").open() as report:
        [row] = csv.DictReader(report, skipinitialspace=True)
    return {"seconds": seconds, "wall_seconds": wall_seconds, "cycles": int(row["Total Cycles"])}


def _table(values: list[int]) -> str:
    """A table of one layer, of which only the order counts; each line ends in a comma."""
    header = ",".join(["layer", *(f"column{k}" for k in range(len(values)))])
    return f"{header},\nconvolution,{','.join(map(str, values))},\n"


if __name__ == "__main__":
    main(sys.argv[1])

"""Bases and their steps made up of a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.explore.point import Point, PointOptions, Value
from tilesim.explore.row import Measures, Row
from tilesim.explore.sensitivity import Factor, Sensitivity, StepRow

HZ = 1_000_000


def row(
    cycles: int | None, energy_pj: float = 1000.0, area_mm2: float = 2.0, reason: str = "", **changes: Value
) -> Row:
    """A row of so many cycles at 1 MHz, and of the chip's ``changes``; one without cycles was refused."""
    settings = {key.replace("__", "."): value for key, value in changes.items()}
    return {
        "key": str(settings),
        "sources": "",
        "network": "net",
        "topology": "chip",
        "machine": "tiled",
        "chip": {"clock_hz": HZ, **settings},
        "options": {"inferences": 1},
        "area": {} if cycles is None else {"macs": area_mm2 / 2, "memories": area_mm2 / 2},
        "command": Point("net", "chip", settings).command,
        "status": "refused" if cycles is None else "ran",
        "reason": reason,
        "measures": None if cycles is None else _measures(cycles, energy_pj),
    }


def _measures(cycles: int, energy_pj: float) -> Measures:
    return {
        "tiles": 4,
        "macs": 100,
        "cycles": cycles,
        "load_cycles": 7,
        "latency_us": cycles * 1e6 / HZ,
        "throughput_per_second": HZ / cycles,
        "energy_pj": energy_pj,
        "mac_utilisation": 0.25,
        "bound_by": "ring",
        "breakdown": {"ring": float(cycles)},
        "bytes": {},
        "peak_bytes": {},
        "outputs_sha256": "",
        "layers": [],
    }


def sensitivity(
    of_factors: Sequence[tuple[str, Value, Sequence[tuple[Value, Row]]]], unstepped: str = "", base: Row | None = None
) -> Sensitivity:
    """A base of 100 cycles, and factors with their values and the rows of these."""
    factors = [
        Factor(key, value, f"meaning of {key}", tuple(other for other, _ in rows), "" if rows else unstepped)
        for key, value, rows in of_factors
    ]
    rows = [StepRow(key, value, each) for key, _, of_key in of_factors for value, each in of_key]
    return Sensitivity(base or row(100), factors, rows)


OPTIONS = PointOptions()
MADE = sensitivity(
    (
        ("ring.width", 8, ((4, row(110, 1200.0)), (16, row(95, 1000.0, 2.5)))),
        ("idle_bytes", 64, ((32, row(100, area_mm2=1.5)), (128, row(100, area_mm2=3.0)))),
        ("tile.lanes", 64, ((32, row(200, 900.0)), (128, row(None, reason="--set tile.lanes=128: no, not 128")))),
        ("clock_hz", HZ, ((2 * HZ, row(100, clock_hz=2 * HZ)),)),
        ("mesh.words", "short", ((("long"), row(100, 1010.0)),)),
        ("hop_cycles", 1, ()),
    ),
    "1 has no half",
)
"""Effects on time of 100 % (lanes and clock) and 10 %, on energy alone, and of nothing; a step refused, and none."""

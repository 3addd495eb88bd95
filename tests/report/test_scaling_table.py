from __future__ import annotations

from io import StringIO

from rich.console import Console

from tilesim.report.scaling import Row, Scaling, scaling, scaling_table
from tilesim.report.terminal import print_on


def statistics(tiles: int, cycles: int, clock_hz: int = 500_000_000, bound_by: str = "macs") -> dict[str, object]:
    units = [{"track": f"chip.tile{k}.{name}"} for k in range(tiles) for name in ("tensor", "mac_array")]
    latency_us = cycles * 1e6 / clock_hz
    return {"units": units, "cycles": cycles, "latency_us": latency_us, "mac_utilisation": 0.5, "bound_by": bound_by}


def test_speed_up_is_in_time_and_efficiency_by_tiles() -> None:
    assert scaling(statistics(2, 900), statistics(8, 300)) == Scaling(3, 0.75)
    assert scaling(statistics(1, 900), statistics(1, 900, clock_hz=1_000_000_000)) == Scaling(2, 2)


NAME = "[red]a very long name of a chip, as a file may have it, and so on"


def test_a_line_a_chip_the_first_that_fits_is_1_all_within_80_columns() -> None:
    rows = [
        Row("edge-1x1", 1, None),
        Row("edge-2x2", 4, statistics(4, 123_456_789)),
        Row(NAME, 64, statistics(64, 12_345_679, bound_by="instruction bus")),
    ]
    console = Console(file=StringIO(), width=80)
    print_on(console, scaling_table(rows))
    title, *lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, (title, *lines))) <= 80
    assert title.split() == ["topology", "tiles", "cycles", "speed-up", "efficiency", "MACs", "used", "bound", "by"]
    assert lines[0].split() == ["edge-1x1", "1", "-", "-", "-", "-", "does", "not", "fit"]
    assert lines[1].split() == ["edge-2x2", "4", "123,456,789", "1.00", "x", "100%", "50.0%", "MACs"]
    assert lines[2].split()[-7:] == ["12,345,679", "10.00", "x", "62%", "50.0%", "instruction", "bus"]
    assert lines[2].startswith("[red]")
    assert len(lines) == 3

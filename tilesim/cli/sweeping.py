"""What is said while a sweep goes on, and of where it can go on when it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tilesim.cli.output import tell
from tilesim.cli.progress import progress
from tilesim.explore.conditions.names import AREA
from tilesim.explore.rows.answers import named_values
from tilesim.printable import counted
from tilesim.report.words import energy_text
from tilesim.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from tilesim.explore.row import Row
    from tilesim.explore.running.sweeping import Progress

MOST_NETWORKS = 3
"""Of which the best point is told while others run."""


@contextmanager
def following(points: int, store: Path | None, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Say how far a sweep of at most so many ``points`` is, if what it yields is told; at an interruption, what is kept
    of it in which ``store``.
    """
    latest: list[Progress] = []

    def follow(so_far: Progress) -> None:
        latest[:] = [so_far]

    try:
        with progress(f"{counted(points, 'point')}", quiet) as say:
            say(lambda: how_far(latest[0]) if latest else counted(points, "point"))
            yield follow
    except KeyboardInterrupt:
        done, total = (latest[0].done, latest[0].total) if latest else (0, points)
        where = f"are in {store}; the same command goes on" if store else "have run; --store FILE would have kept them"
        tell(f"{done:,} of {total:,} points {where}", error=True)
        raise


def how_far(so_far: Progress) -> str:
    """Points done, the rate, the time that is left, and the best so far."""
    parts = [f"{so_far.done:,} of {counted(so_far.total, 'point')}"]
    if so_far.seconds_left is not None:
        parts += [f"{so_far.rate_per_second:.3g} a second", f"{duration(so_far.seconds_left)} left"]
    lost = [f"{so_far.refused:,} refused"] * bool(so_far.refused) + [f"{so_far.failed:,} failed"] * bool(so_far.failed)
    shown = [*so_far.best.items()][:MOST_NETWORKS]
    best = [f"best {name} {amount(row, so_far.objective.measure)}" for name, row in shown]
    return ", ".join([*parts, *lost, *best])


def duration(seconds: float) -> str:
    """A time that somebody waits: ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours:,} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def amount(row: Row, measure: str) -> str:
    """What a row has of a measure, in its unit; the measure is named where the unit does not tell which it is."""
    value = named_values(row).get(measure)
    if not isinstance(value, int | float):
        return "-"
    if measure in WORDS:
        return WORDS[measure](value)
    return f"{measure} {format_bytes(int(value)) if 'bytes.' in measure else f'{value:,.10g}'}"


WORDS: Mapping[str, Callable[[float], str]] = {
    "latency_us": lambda value: format_seconds(value / 1e6),
    "energy_pj": energy_text,
    "throughput_per_second": "{:,.4g} inferences a second".format,
    "mac_utilisation": "{:.1%} of MACs in use".format,
    AREA: "{:,.2f} mm2".format,
}
"""What tells its measure by its unit."""

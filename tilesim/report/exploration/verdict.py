"""The knee of a network and why it is there, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.explore.row import Row
from tilesim.printable import printable
from tilesim.registry import description_of
from tilesim.report.exploration.losses import LOSSES, Waterfall, waterfall
from tilesim.report.exploration.scaling import ScaledRow, Series

MOST_LOSSES = 3
LEAST_SHARE = 0.05
"""Of a loss, for a part of it to be named."""


def verdict(rows: Sequence[Row], series: Series) -> str:
    """Where the knee is, what chip and run are like there, and what the step beyond it loses."""
    return " ".join(_sentences(rows, series))


def _sentences(rows: Sequence[Row], series: Series) -> Iterator[str]:
    first, last, knee = series.rows[0], series.rows[-1], series.rows[series.knee]
    name, gain = printable(series.network), f"{knee.speed_up:,.3g} × as fast as {tiles_words(first.tiles)}"
    if knee is last:
        yield f"{name} has no knee up to {tiles_words(last.tiles)}, {gain} at an efficiency of {knee.efficiency:.0%}."
        return
    if knee is first:
        yield f"The knee of {name} is at {tiles_words(first.tiles)}, the fewest that ran."
    else:
        yield f"The knee of {name} is at {tiles_words(knee.tiles)}: {gain}, at an efficiency of {knee.efficiency:.0%}."
    yield _beyond(rows, series, knee, series.rows[series.knee + 1])


def _beyond(rows: Sequence[Row], series: Series, knee: ScaledRow, after: ScaledRow) -> str:
    faster, steps = knee.cycles / after.cycles, after.tiles / knee.tiles
    found = between(rows, series, series.knee, series.knee + 1)
    how = f"makes it {faster:.3g} × as fast" if faster > 1 else "does not make it faster"
    return (
        f"Going on to {tiles_words(after.tiles)}, {steps:.3g} × as many, {how}: of the "
        f"{found.actual - found.ideal:,.0f} cycles that it lacks, most are lost to {losses_words(found)}."
    )


def losses_words(found: Waterfall) -> str:
    """The largest losses with their shares of the whole loss: ``halo (52%) and idle (31%)``."""
    named = [f"{words} ({share:.0%})" for words, share in shares(found)[:MOST_LOSSES] if share >= LEAST_SHARE]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1]))) if named else "nothing"


def shares(found: Waterfall) -> list[tuple[str, float]]:
    """What cycles are lost to, in words, the largest first, as shares of the whole loss; none where none is lost."""
    whole = found.actual - found.ideal
    return [(LOSSES[name].words, part / whole) for name, part in found.largest] if whole > 0 else []


def between(rows: Sequence[Row], series: Series, one: int, other: int) -> Waterfall:
    """What is lost from one place of a series to another, which has more tiles."""
    before, after = (rows[series.rows[place].row]["measures"] for place in (one, other))
    assert before is not None
    assert after is not None
    return waterfall(before, after, description_of(series.machine))


def tiles_words(count: int) -> str:
    return f"{count:,} tile{'' if count == 1 else 's'}"

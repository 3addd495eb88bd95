"""Why units wait: for each kind of unit the share of each reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilesim.report.analysis.contention import Account, accounts
from tilesim.report.figures.style import WIDTH_INCHES, colour
from tilesim.report.kinds import in_order, kind_of
from tilesim.statistics import RunStatistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_INCHES = 0.17


def draw(statistics: RunStatistics) -> Figure:
    """A bar of all cycles for each kind of unit that was ever busy."""
    from matplotlib.figure import Figure

    rows = [account for account, _ in accounts(statistics) if account.busy][::-1]
    figure = Figure(figsize=(WIDTH_INCHES, 0.9 + ROW_INCHES * len(rows)))
    axes = figure.add_subplot()
    left = [0.0] * len(rows)
    for kind in _kinds(rows):
        widths = [_cycles(account, kind) / max(1, account.total) for account in rows]
        axes.barh(range(len(rows)), widths, left=left, height=0.78, color=colour(kind), label=kind_of(kind).words)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(rows)), [_words(account) for account in rows])
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1), ylim=(-0.6, len(rows) - 0.4))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of the cycles of all units of a kind")
    figure.legend(loc="outside upper center", ncols=5, handlelength=1, columnspacing=1.2)
    return figure


def _kinds(rows: list[Account]) -> list[str]:
    return [*in_order({"busy", *(f"stall:{reason}" for account in rows for reason in account.stalls)}), "idle"]


def _cycles(account: Account, kind: str) -> int:
    return {"busy": account.busy, "idle": account.idle}.get(kind, account.stalls.get(kind.removeprefix("stall:"), 0))


def _words(account: Account) -> str:
    count = len(account.tracks)
    return account.words if count == 1 else f"{count} {account.words}"

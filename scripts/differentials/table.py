"""Outcomes counted, family by family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from scripts.differentials.verdict import Outcome

VERDICTS = ("equal", "refused", "different")


def counted(families: Sequence[str], outcomes: Iterable[Outcome]) -> Table:
    """A row a family: models and their verdicts, and likewise of those that a chip ran; last the totals."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("family", min_width=max(map(len, families), default=0))
    for title in ("models", *VERDICTS, "chip", *VERDICTS):
        table.add_column(title, justify="right")
    rows = {family: Counter[str]() for family in families}
    for outcome in outcomes:
        rows[outcome.job.family].update([outcome.verdict, f"chip {outcome.on_chip}"])
    for family, row in rows.items():
        table.add_row(family, *_numbers(row))
    table.add_row("all", *_numbers(sum(rows.values(), Counter())), style="bold")
    return table


def _numbers(row: Counter[str]) -> list[str]:
    counts = [row[verdict] for verdict in VERDICTS], [row[f"chip {verdict}"] for verdict in VERDICTS]
    return [f"{number:,}" if number else "" for part in counts for number in (sum(part), *part)]


def refusals(outcomes: Iterable[Outcome]) -> Iterator[Text]:
    """Every reason for which models were refused, with how often, the most frequent first."""
    reasons = Counter[str]()
    for outcome in outcomes:
        reasons.update([outcome.reason] * (outcome.verdict == "refused"))
        reasons.update([f"on a chip: {outcome.chip_reason}"] * (outcome.on_chip == "refused"))
    for reason, count in reasons.most_common():
        yield Text(f"refused {count:,} x {reason}")

"""Measurements as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tilesim.units import format_seconds

Found = Mapping[str, Any]


def markdown(document: Found) -> str:
    """The whole document: ratios, what an instruction costs, sizes, where it was measured, and what could not be."""
    groups = document["groups"]
    parts = [
        _table(("what", "takes", "compared with", "takes", "ratio", "goal"), _ratios(groups)),
        _table(("one instruction more", "takes", "goal"), _instructions(groups)),
        _table(("network", "instructions", "compile", "simulate", "peak memory", "cycles"), _sizes(groups)),
        f"Measured on {document['date']} on one core of {document['processor']}, with {_versions(document)}.\n",
        "".join(f"- {line}\n" for line in _missing(groups)),
    ]
    return "\n".join(part for part in parts if part)


def goals(document: Found) -> str:
    """What is aimed at, and what is reached."""
    groups = document["groups"]
    aimed = ((what, compared, f"{times} times", goal) for what, _, compared, _, times, goal in _ratios(groups) if goal)
    each = ((f"one instruction more: {kind}", "", takes, goal) for kind, takes, goal in _instructions(groups))
    return _table(("what", "compared with", "takes", "goal"), chain(aimed, each))


def _ratios(groups: Sequence[Found]) -> Iterator[tuple[str, ...]]:
    for group in groups:
        for ratio in group["ratios"]:
            if "ratio" in ratio:
                over, under = group["subjects"][ratio["over"]], group["subjects"][ratio["under"]]
                took = [_took(one, "cycles" in over and "cycles" in under) for one in (over, under)]
                times = _times(ratio["ratio"]) + _spread(ratio, _times)
                yield ratio["over"], took[0], ratio["under"], took[1], times, _goal(ratio)


def _took(subject: Found, cycles: bool) -> str:
    return format_seconds(subject["seconds"]) + (f" for {subject['cycles']:,} cycles" if cycles else "")


def _instructions(groups: Sequence[Found]) -> Iterator[tuple[str, ...]]:
    for group in groups:
        for ratio in group["ratios"]:
            if "seconds_each" in ratio:
                takes = f"{_microseconds(ratio['seconds_each'])} us{_spread(ratio, _microseconds)}"
                yield ratio["over"].partition(" ")[2], takes, _goal(ratio)


def _sizes(groups: Sequence[Found]) -> Iterator[tuple[str, ...]]:
    for group in groups:
        for label, subject in group["subjects"].items() if group["sizes"] else ():
            if "error" not in subject:
                yield (
                    label, f"{subject['instructions']:,}", format_seconds(subject["compile_seconds"]),
                    format_seconds(subject["seconds"]), f"{subject['peak_bytes'] / 1e6:,.0f} MB",
                    f"{subject['cycles']:,}",
                )  # fmt: skip


def _missing(groups: Sequence[Found]) -> Iterator[str]:
    for group in groups:
        if "skipped" in group:
            yield f"{group['name']} was left out: {group['skipped']}"
        if not group["exact"]:
            yield f"{group['name']}: outputs differ that must be the same"
        for label, subject in group["subjects"].items():
            if "error" in subject:
                yield f"{label}: {subject['error']}"


def _versions(document: Found) -> str:
    return ", ".join(f"{name} {version}" for name, version in document["versions"].items())


def _goal(ratio: Found) -> str:
    return f"≤ {ratio['goal']}" if ratio["goal"] else ""


def _spread(ratio: Found, shown: Callable[[float], str]) -> str:
    """From the least to the most of the rounds, if there were several."""
    rounds = ratio["of_rounds"]
    return f" ({shown(min(rounds))} to {shown(max(rounds))})" if len(rounds) > 1 else ""


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.0f}"


def _times(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def _table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A table, the words of its first column on the left and all else on the right; none if it has no rows."""
    lines = list(rows)
    rule = ("---", *("---:" for _ in header[1:]))
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *lines)) if lines else ""

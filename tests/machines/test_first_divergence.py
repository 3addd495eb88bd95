"""Where two traces part."""

from __future__ import annotations

from tilesim.machines.first_divergence import Divergence, Span, find_divergence

LOAD: list[Span] = [("chip.a", 0, 5, "busy", "load[0]")]
RUN: list[Span] = [("chip.a", 9, 2, "busy", "x"), ("chip.a", 11, 3, "stall:port", "x"), ("chip.b", 10, 1, "busy", "y")]
LABELS = {"x", "y"}


def test_equal_traces_do_not_part() -> None:
    assert find_divergence(LOAD + RUN, LOAD + RUN[::-1], LABELS) is None


def test_neither_idleness_nor_cuts_nor_names_part_them() -> None:
    cut: list[Span] = [
        ("chip.a", 0, 2, "busy", ""),
        ("chip.a", 2, 3, "busy", "load[0]"),
        ("chip.a", 5, 4, "idle", ""),
        ("chip.a", 9, 0, "stall:flag", "x"),
    ]
    assert find_divergence(LOAD + RUN, cut + RUN, LABELS) is None


def test_the_run_is_counted_from_its_own_start() -> None:
    later = [(track, start + 7, *rest) for track, start, *rest in RUN]
    assert find_divergence(LOAD + RUN, LOAD + later, LABELS) is None  # type: ignore[operator]
    longer: list[Span] = [*RUN[:1], ("chip.a", 11, 4, "stall:port", "x"), *RUN[2:]]
    found = find_divergence(LOAD + RUN, LOAD + longer, LABELS)
    assert found == Divergence("run", "chip.a", 5, "idle", "waits for port in x")


def test_the_first_one_counts_whatever_the_track() -> None:
    other: list[Span] = [("chip.a", 9, 5, "busy", "x"), ("chip.b", 9, 2, "busy", "y")]
    assert find_divergence(RUN, other, LABELS) == Divergence("run", "chip.b", 0, "idle", "busy in y")
    assert find_divergence(LOAD + RUN, [*RUN, ("chip.a", 0, 5, "stall:flag", "z")], LABELS) == Divergence(
        "load", "chip.a", 0, "busy in load[0]", "waits for flag in z"
    )

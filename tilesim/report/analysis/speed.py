"""How fast a run is beside another of the same network, and how much of it more MAC arrays could give."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.errors import InputError
from tilesim.report.analysis.layers import arrays
from tilesim.report.analysis.roofline import macs_a_cycle
from tilesim.statistics import RunStatistics


def speed_up(run: RunStatistics, first: RunStatistics) -> float:
    """How many times as fast as the first run, in time."""
    return (first["cycles"] / first["clock_hz"]) / (run["cycles"] / run["clock_hz"])


def efficiency(run: RunStatistics, first: RunStatistics) -> float | None:
    """How much of the speed-up that so many times as many MAC arrays could give; None of those that are not alike."""
    return None if unlike(run, first) else speed_up(run, first) * arrays(first) / arrays(run)


def unlike(run: RunStatistics, first: RunStatistics) -> str:
    """In what the MAC arrays of two runs are not alike, in words; nothing if they are."""
    if run["machine"] != first["machine"]:
        return "another kind of machine"
    differ = {
        "other MACs an array": _macs_of_array(run) != _macs_of_array(first),
        "another clock": run["clock_hz"] != first["clock_hz"],
    }
    return ", ".join(words for words, is_so in differ.items() if is_so)


def not_efficient(name: str, run: RunStatistics, first_name: str, first: RunStatistics) -> Iterator[str]:
    """A sentence that says why a run has no efficiency over the first, if it has none."""
    if words := unlike(run, first):
        yield f"{name} has no efficiency over {first_name}: {words}"


def _macs_of_array(run: RunStatistics) -> tuple[float, ...]:
    """What a MAC array can do a cycle; nothing if the chip does not say."""
    try:
        return tuple(macs / arrays(run) for macs in macs_a_cycle(run))
    except InputError:
        return ()

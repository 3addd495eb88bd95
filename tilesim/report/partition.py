"""How the layers of a run were spread over the tiles, in a line."""

from __future__ import annotations

from tilesim.statistics import PartitionCandidate, RunStatistics


def partition_words(statistics: RunStatistics) -> str:
    """What was asked for, what came of it, and what was tried; nothing if all is as it is without asking."""
    known = statistics.get("partition")
    if not known:
        return ""
    by_channel = [layer for layer in known["layers"] if layer["choice"] == "channel"]
    vectors = [layer for layer in by_channel if statistics["layers"][layer["layer"]]["kind"] == "fullyconnected"]
    if known["asked"] in {"", "spatial"} and len(by_channel) == len(vectors):
        return ""
    words = f"{known['asked']}: {len(by_channel)} of {len(known['layers'])} layers by channel"
    return f"{words}{_tried(known['candidates'])}"


def _tried(candidates: list[PartitionCandidate]) -> str:
    ran = [candidate for candidate in candidates if candidate["cycles"] >= 0]
    if not ran:
        return ""
    fastest = min(ran, key=lambda candidate: candidate["cycles"])
    names = f"; fastest of {len(candidates)} tried was {fastest['name']}"
    first = candidates[0]
    if first is fastest or first["cycles"] < 0:
        return names
    return f"{names}, by {1 - fastest['cycles'] / first['cycles']:.1%} over {first['name']}"

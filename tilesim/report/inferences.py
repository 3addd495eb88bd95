"""Several inferences of one run, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.statistics import RunStatistics


def inference_rows(statistics: RunStatistics) -> Iterator[tuple[str, int | None, str]]:
    """What to say of a run of several inferences: a title, cycles or None, and words that follow them."""
    requests = statistics["requests"]
    networks = list(dict.fromkeys(request["network"] for request in requests))
    first = requests[0]
    yield (
        "latency",
        first["latency_cycles"],
        "for the first inference" + f", of {first['network']}" * (len(networks) > 1),
    )
    for network in networks:
        later = [request["latency_cycles"] for request in requests[1:] if request["network"] == network]
        if later:
            yield "", round(sum(later) / len(later)), f"for each later one{f' of {network}' * (len(networks) > 1)}"
    batched = statistics.get("batching")
    what = "for each, on average over all of them" if batched else "between the last words of one and the next"
    if (interval := statistics.get("interval_cycles")) is not None:
        yield "interval", round(interval), what
    yield "throughput", None, f"{statistics['throughput_per_second']:,.1f} inferences a second"
    yield "in all", statistics["cycles"], f"for {len(requests):,} inferences"


def loads_between(statistics: RunStatistics) -> int:
    """How many inferences had to load their parameters again while others were under way."""
    seen: set[str] = set()
    again = 0
    for request in statistics["requests"]:
        again += request.get("loaded", False) and request["network"] in seen
        seen.add(request["network"])
    return again

"""What is said of several inferences."""

from __future__ import annotations

from typing import Any

from tilesim.report.inferences import inference_rows, loads_between


def statistics(*requests: tuple[str, int, bool]) -> dict[str, Any]:
    return {
        "cycles": 1000,
        "interval_cycles": 250.4,
        "throughput_per_second": 1234.56,
        "requests": [
            {"network": name, "latency_cycles": cycles, "loaded": loaded} for name, cycles, loaded in requests
        ],
    }


def test_one_network_is_not_named() -> None:
    document = statistics(("a", 300, True), ("a", 240, False), ("a", 243, False))
    assert list(inference_rows(document)) == [
        ("latency", 300, "for the first inference"),
        ("", 242, "for each later one"),
        ("interval", 250, "between the last words of one and the next"),
        ("throughput", None, "1,234.6 inferences a second"),
        ("in all", 1000, "for 3 inferences"),
    ]
    assert loads_between(document) == 0


def test_several_are() -> None:
    document = statistics(("a", 300, True), ("b", 100, True), ("a", 240, True), ("b", 120, False))
    assert [words for _, _, words in inference_rows(document)][:3] == [
        "for the first inference, of a",
        "for each later one of a",
        "for each later one of b",
    ]
    assert loads_between(document) == 1

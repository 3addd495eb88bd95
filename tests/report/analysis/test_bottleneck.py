"""The bottleneck in a sentence: of a trace, of the accounts alone, of a run that ended early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.report.runs import traced
from tests.report.saved import made_up
from tilesim.report.analysis.bottleneck import verdict
from tilesim.report.analysis.critical_path import shares
from tilesim.report.document import SavedRun

LAYERS = [
    {"name": "net/one/Conv2D", "kind": "convolution", "macs": 500, "mac_utilisation": 0.5, "start_cycle": 0},
    {"name": "net/two/Conv2D", "kind": "depthwiseconvolution", "macs": 9, "mac_utilisation": 0.01, "start_cycle": 30},
]


def counted(bound_by: str | None, *spent: dict[str, int]) -> SavedRun:
    """A run of 100 cycles on one array, whose layers' cycles went into what is ``spent``."""
    layers = [
        {**layer, "cycles": sum(breakdown.values()), "breakdown": breakdown}
        for layer, breakdown in zip(LAYERS, spent, strict=True)
    ]
    sums = {cause: sum(each.get(cause, 0) for each in spent) for each in spent for cause in each}
    units = [{"track": "chip.tile0.mac_array", "busy_cycles": 0, "stall_cycles": {}, "idle_cycles": 100}]
    return made_up(None, bound_by=bound_by, breakdown=sums, layers=layers, units=units)


def sentences(run: SavedRun) -> list[str]:
    found = verdict(run.statistics, run.path)
    return [] if found is None else list(found.sentences)


def test_a_traced_run_names_the_largest_share_its_layer_and_when(digits_run: SavedRun) -> None:
    assert digits_run.path is not None
    largest, *_ = shares(digits_run.statistics, digits_run.path)
    found = verdict(digits_run.statistics, digits_run.path)
    assert found is not None
    share = largest.cycles / digits_run.statistics["cycles"]
    assert found.sentences[0].startswith(f"{share:.0%} of the critical path is MAC arrays computing; the most, ")
    assert "for layer depthwise (depthwise, 2.7% of the MACs in use), in cycles " in found.sentences[0]
    assert found.sentences[1].startswith("Next: ")
    layer = digits_run.statistics["layers"][2]
    assert layer["start_cycle"] <= found.cycles.start < found.cycles.stop <= layer["start_cycle"] + layer["cycles"]
    assert found.track.endswith(".mac_array")


def test_a_systolic_run_has_words_of_its_own() -> None:
    [first, _] = sentences(traced("digits", "systolic-32"))
    assert first.startswith(
        "37% of the critical path is weight fetcher at work, all of that for 2 convolution layers; the most, "
    )


def test_without_a_trace_it_is_where_the_cycles_of_the_arrays_went(digits_run: SavedRun) -> None:
    [first, more] = sentences(replace(digits_run, trace=None))
    assert first.startswith("The MAC arrays spend ")
    assert "--trace" in more


@pytest.mark.parametrize(
    ("bound_by", "spent", "words"),
    [
        (
            "macs",
            ({"macs": 20, "ring": 10}, {"macs": 40}),
            "60% of their cycles computing; most for layer two (depthwise,",
        ),
        (
            "ring",
            ({"macs": 10, "ring": 30}, {"ring": 9}),
            "39% of their cycles waiting for rows that come over the ring;",
        ),
    ],
)
def test_the_accounts_name_the_layer_that_has_most_of_it(
    bound_by: str, spent: tuple[dict[str, int], ...], words: str
) -> None:
    assert words in sentences(counted(bound_by, *spent))[0]


def test_nothing_is_said_of_a_program_that_has_neither_trace_nor_layers() -> None:
    assert sentences(made_up(None, bound_by=None)) == []


def test_a_run_that_ended_early_says_so_first(digits_run: SavedRun) -> None:
    report = [
        "the run program hangs after 1,234 cycles:",
        "chip.a in b has waited since cycle 3 for c",
        "b waits for c",
    ]
    end: dict[str, Any] = {"kind": "hang", "section": "run", "cycle": 1234, "report": report}
    ended = replace(digits_run, statistics={**digits_run.statistics, "end": end})
    first, then = sentences(ended)
    assert first == "The run hung after 1,234 cycles: b waits for c."
    assert then.startswith("Until then: 37% of the critical path")
    found = verdict(ended.statistics, None)
    assert found is not None
    assert found.cycles == range(1134, 1235)
    assert len(found.sentences) == 1

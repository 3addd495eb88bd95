"""``tilesim batch``: the plan for people and for scripts, and what is said of bad words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PUBLISHED = ("batch", "batching", "-t", "tpu-v1", "--weight-reuse", 1500, "--power-of-two")


def document(tilesim: Any, *words: object) -> dict[str, Any]:
    result = tilesim(*words, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def rows(text: str) -> list[list[str]]:
    return [re.split(" {2,}", line.strip()) for line in text.splitlines()]


def test_the_published_example_for_people(tilesim: Any) -> None:
    result = tilesim(*PUBLISHED)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = rows(result.stdout)
    assert lines[0] == ["batching on tpu-v1, 32 inferences"]
    assert lines[lines.index(["layer with weights", "weights", "uses", "batch", "to 2^n"]) + 1 :][:6] == [
        ["0", "stem", "144 B", "28,900", "1", "1"],
        ["1", "patches", "2.25 KiB", "784", "2", "2"],
        ["2", "third", "4.5 KiB", "196", "8", "8"],
        ["3", "fourth", "18 KiB", "196", "8", "8"],
        ["4", "fifth", "36 KiB", "196", "8", "8"],
        ["5", "last", "36 KiB", "49", "31", "32"],
    ]
    assert lines[-8:] == [
        ["none", "192", "192", "3.03 MiB", "225.78 KiB", "yes"],
        ["demand", "61", "45", "308.25 KiB", "819.06 KiB", "yes"],
        ["lcm", "61", "6", "96.89 KiB", "7.06 MiB", "yes"],
        [""],
        ["schedule", "order of layers"],
        ["none", "32 x (0, 1, 2, 3, 4, 5)"],
        ["demand", "4 x (4 x (2 x 0, 1), 2, 3, 4), 5"],
        ["lcm", "32 x 0, 16 x 1, 4 x 2, 4 x 3, 4 x 4, 5"],
    ]
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_where_the_weight_reuse_value_comes_from(tilesim: Any) -> None:
    own = " ".join(tilesim("batch", "pocket", "-t", "tpu-v1").stdout.split())
    why = (
        "256 x 256 cells hold 65,536 bytes of weights; their memory brings 2 x 8 bytes at 2.125 GHz, so they take "
        "1,349.27 cycles at 700 MHz"
    )
    assert f"A weight must be used 1,349.27 times while the next ones come: {why}." in own
    given = " ".join(tilesim(*PUBLISHED).stdout.split())
    assert f"A weight is to be used 1,500 times, as asked for. (Of this chip: {why}.)" in given


def test_json_has_every_step(tilesim: Any) -> None:
    found = document(tilesim, *PUBLISHED, "--schedule", "demand", "--inferences", 40)
    [made] = found["schedules"]
    assert made["batches"] == [1, 2, 8, 8, 8, 32]
    assert (made["weight_set_loads"], made["fits"], made["group"]) == (57, True, None)
    assert made["steps"][2] == {
        "layer": 1,
        "first": 0,
        "count": 2,
        "buffer_bytes": 2 * 170 * 170 * 4 + 2 * 28 * 28 * 16,
    }
    assert made["peak_buffer_bytes"] == max(step["buffer_bytes"] for step in made["steps"])
    assert [queue["peak"] for queue in made["queues"]] == [2, 8, 8, 8, 32]
    assert found["weight_reuse"]["value"] == 1500
    assert [layer["after"] for layer in found["layers"]] == [[], [0], [1], [2], [3], [4]]


def test_as_many_inferences_as_the_largest_batch(tilesim: Any) -> None:
    assert document(tilesim, "batch", "batching", "-t", "tpu-v1")["inferences"] == 28
    assert document(tilesim, "batch", "digits", "-t", "systolic-4")["inferences"] == 4


def test_of_several_that_do_not_fit_it_says_so(tilesim: Any) -> None:
    small = (*PUBLISHED, "--set", "unified_buffer.size_bytes=1MiB")
    lines = rows(tilesim(*small).stdout)
    assert [line[-1] for line in lines if line[0] in {"none", "demand", "lcm"}][:3] == ["yes", "yes", "no"]
    fitted = document(tilesim, *small, "--fit")["schedules"]
    assert [made["fitted"] for made in fitted] == [None, None, "groups of at most 4 inferences, not 32"]
    assert all(made["fits"] for made in fitted)
    assert "with groups of at most 4 inferences, not 32" in " ".join(tilesim(*small, "--fit").stdout.split())


def test_one_that_does_not_fit_is_refused(tilesim: Any) -> None:
    small = (*PUBLISHED, "--set", "unified_buffer.size_bytes=200KiB")
    must = "must fit the unified buffer: they take"
    there_are = "at once, and there are 197.14 KiB (201,872 bytes)"
    for words, whose in ((("--schedule", "none"), "one inference"), (("--fit",), "one inference")):
        refused = tilesim(*small, *words)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr == f"error: batching: tensors of {whose} {must} 225.78 KiB (231,200 bytes) {there_are}\n"
    refused = tilesim(*small, "--schedule", "lcm")
    assert refused.stderr == (
        f"error: batching: tensors of schedule lcm {must} 7.06 MiB (7,398,400 bytes) {there_are}; "
        "--fit makes batches smaller\n"
    )


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (
            ("batch", "dgits", "-t", "edge-1x1", "--weight-reuse", "1e99999", "--schedule", "lmc"),
            [
                "--weight-reuse must be a number such as 1500, above 0 and at most 1,000,000, not '1e99999'",
                "dgits: there is no such workload; did you mean digits?",
                "edge-1x1: must be a chip whose machine can run batches, such as tpu-v1, not one of the tiled machine",
                "--schedule must be a schedule, not 'lmc'; did you mean 'lcm'?",
            ],
        ),
        (
            ("batch", "digits"),
            ["--topology must name a chip; `tilesim topologies` lists them"],
        ),
        (
            ("batch", "digits", "-t", "tpu-v1", "--weight-reuse", "2000000"),
            ["--weight-reuse must be a number such as 1500, above 0 and at most 1,000,000, not '2000000'"],
        ),
    ],
)
def test_faults_are_said_all_at_once(tilesim: Any, words: tuple[str, ...], sentences: list[str]) -> None:
    result = tilesim(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.removeprefix("error: ") for line in result.stderr.splitlines()] == sentences


def test_a_network_without_weights(tilesim: Any, tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("input: {shape: [1, 4, 4, 4]}\nlayers: [{name: pool, kind: max_pool, window: [2, 2]}]\n")
    result = tilesim("batch", path, "-t", "tpu-v1")
    assert (result.exit_code, result.stderr) == (2, "error: pool: must have a layer with weights to form batches for\n")

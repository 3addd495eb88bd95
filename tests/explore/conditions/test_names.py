"""Names that mean something: keys, options, measures."""

from __future__ import annotations

import pytest

from tilesim.explore.conditions.names import is_measure, measures_of, samples, unmeasured


def test_samples_are_of_what_means_something_and_no_two_numbers_are_the_same() -> None:
    names = [
        "tile.lanes",
        "cache",
        "latency_us",
        "breakdown.no_work",
        "area_mm2.ring",
        "topology",
        "layers",
        "bites.ring",
    ]
    tried = samples({"tile.lanes": 64, "ring.queue": "split"}, names)
    assert [name for name in names if name not in tried] == ["layers", "bites.ring"]
    numbers = [value for value in tried.values() if isinstance(value, float)]
    assert len(numbers) == len(set(numbers))
    assert (tried["cache"], tried["ring.queue"]) == (True, "split")


@pytest.mark.parametrize("name", ["latency_us", "area_mm2", "area_mm2.ring", "bytes.ring", "mac_utilisation", "tiles"])
def test_measures_that_are_numbers(name: str) -> None:
    assert is_measure(name)
    assert unmeasured(name) == ""


@pytest.mark.parametrize("name", ["bound_by", "outputs_sha256", "bytes", "layers", "cache", ""])
def test_what_can_be_no_objective(name: str) -> None:
    assert unmeasured(name).startswith("must be a measure that is a number, not ")


def test_keys_and_options_are_no_measures() -> None:
    assert not any(map(is_measure, ["tile.lanes", "cache", "inferences", "machine", "network"]))


def test_what_runs_may_be_asked_for_depends_on_their_machines() -> None:
    tiled, both = measures_of(["tiled"]), measures_of(["tiled", "systolic"])
    assert {"bytes.ring", "peak_bytes.wide_memory", "breakdown.no_work", "area_mm2.narrow_memories"} < {*tiled}
    assert {*both} - {*tiled} > {"bytes.instructions", "breakdown.RAW_stall", "peak_bytes.accumulators"}
    assert "bytes.NAME" not in both
    assert {"bytes.ring", "bytes.NAME"} < {*measures_of(["tiled", "abacus"])}
    assert "bytes.NAME" in measures_of()


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("bytes.rong", "not 'bytes.rong'; did you mean 'bytes.ring'?"),
        ("byte.ring", "not 'byte.ring'; did you mean 'bytes.ring'?"),
        ("bytes.qqq", "not 'bytes.qqq' (one of bytes.host, bytes.instruction_bus, bytes.mesh, bytes.ring)"),
        ("peak_bytes.accumulators", "peak_bytes.instruction_memory, peak_bytes.narrow_memory, peak_bytes.wide_memory)"),
        ("latncy_us", "not 'latncy_us'; did you mean 'latency_us'?"),
        ("qqq", "mac_utilisation, macs, peak_bytes.NAME, throughput_per_second, tiles)"),
    ],
)
def test_a_part_that_the_machine_has_not(name: str, fault: str) -> None:
    assert unmeasured(name, measures_of(["tiled"])).endswith(fault)
    assert not is_measure(name, measures_of(["tiled"]))

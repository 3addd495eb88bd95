"""What machines say of keys on which no program depends is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilesim
from tilesim.config import ConfigSection
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology, Value, keys
from tilesim.registry import machine_named, machine_of

NORMALISED = str(Path(__file__).parents[2] / "workloads" / "tiled" / "normalised.yaml")
"""Of which the host computes a layer."""
CASES = (
    ("tiled", "pocket", "pocket-2x1"),
    ("tiled", "example-conv", "edge-1x2"),
    ("tiled", NORMALISED, "edge-1x2"),
    ("systolic", "digits", "systolic-32"),
    ("systolic", "example-residual", "systolic-32"),
    ("rotating", "digits", "nnu-1024-jump"),
)
BASE: Mapping[str, Mapping[str, Value]] = {
    "tiled": {"tile.traversal": "multiplier"},
    "systolic": {},
    "rotating": {"weight_ram.rows": 400},
}
"""With which each key tells; weights of the rotating chip are streamed."""
KEYS = [(machine, key) for machine in BASE for key in sorted(machine_named(machine).run_time_keys)]


@pytest.fixture(scope="module")
def compiled() -> Mapping[tuple[str, str], Program]:
    """The programs of all cases on their own chips."""
    return {
        (workload, chip): tilesim.compile(tilesim.load_network(workload), tilesim.load_topology(chip, BASE[machine]))
        for machine, workload, chip in CASES
    }


def _other(topology: Topology, key: str) -> Value:
    value = next(each.value for each in keys(topology) if each.key == key)
    if key == "tile.traversal":
        return "adder" if value == "multiplier" else "multiplier"
    if isinstance(value, str):
        return "dual" if value == "single" else "single"
    if key.endswith("_bytes_per_second"):
        return 10**9
    return 3 - value if key == "wide_memory.ports" else 2 * value + 1


def _must_be_alike(program: Program, anew: Program) -> None:
    """Equal but for their chips."""
    for field in fields(program):
        ours, theirs = getattr(program, field.name), getattr(anew, field.name)
        if field.name == "data":
            assert [part.name for part in ours] == [part.name for part in theirs]
            assert all(np.array_equal(a.data, b.data) for a, b in zip(ours, theirs, strict=True))
        elif field.name != "topology":
            assert ours == theirs, field.name


def _must_run_alike(program: Program, anew: Program) -> None:
    """The same run.json, the same outputs."""
    ours, theirs = tilesim.simulate(program), tilesim.simulate(anew)
    assert ours.json() == theirs.json()
    assert all(np.array_equal(a, b) for a, b in zip(ours.outputs, theirs.outputs, strict=True))


@pytest.mark.parametrize(("machine", "key"), KEYS)
def test_a_program_does_not_depend_on_a_key_and_runs_on_another_chip_as_if_made_for_it(
    machine: str, key: str, compiled: Mapping[tuple[str, str], Program]
) -> None:
    for of, workload, chip in CASES:
        if of == machine:
            before = compiled[workload, chip]
            topology = tilesim.load_topology(chip, {**BASE[machine], key: _other(before.topology, key)})
            anew, moved = tilesim.compile(tilesim.load_network(workload), topology), before.retargeted(topology)
            _must_be_alike(before, anew)
            assert moved.topology == topology != before.topology
            if workload != "example-residual":
                _must_run_alike(moved, anew)


@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_nor_on_several_of_them(data: st.DataObject, compiled: Mapping[tuple[str, str], Program]) -> None:
    machine, workload, chip = data.draw(st.sampled_from([case for case in CASES if case[1] != "digits"]))
    before = compiled[workload, chip]
    changed = data.draw(st.sets(st.sampled_from(sorted(machine_named(machine).run_time_keys))))
    changes = {key: _other(before.topology, key) for key in sorted(changed)}
    topology = tilesim.load_topology(chip, {**BASE[machine], **changes})
    anew = tilesim.compile(tilesim.load_network(workload), topology)
    _must_be_alike(before, anew)
    _must_run_alike(before.retargeted(topology), anew)


@pytest.mark.parametrize("chip", ["edge-1x2", "fig2-5x2"])
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("partition", ["spatial", "channel"])
def test_nor_whatever_the_options(chip: str, cache: bool, partition: str) -> None:
    network, base = tilesim.load_network("digits"), tilesim.load_topology(chip)
    other = tilesim.load_topology(chip, {key: _other(base, key) for key in machine_of(base).run_time_keys})
    ours, theirs = (
        tilesim.compile_networks([network], topology, tilesim.CachePolicy(cache), partition)
        for topology in (base, other)
    )
    _must_be_alike(ours[0], theirs[0])


@pytest.fixture
def read_keys(monkeypatch: pytest.MonkeyPatch) -> set[tuple[type, str]]:
    """Sections and names of keys, as somebody reads them."""
    found: set[tuple[type, str]] = set()

    def recording(section: ConfigSection, name: str) -> Any:
        if name in type(section).model_fields:
            found.add((type(section), name))
        return object.__getattribute__(section, name)

    monkeypatch.setattr(ConfigSection, "__getattribute__", recording, raising=False)
    return found


@pytest.mark.parametrize("chip", ["edge-2x2", "fig2-5x2", "systolic-32", "tpu-v1", "nnu-1024"])
@pytest.mark.parametrize("workload", ["digits", "example-residual"])
def test_no_compiler_reads_them(chip: str, workload: str, read_keys: set[tuple[type, str]]) -> None:
    """Nor does what is found of a program without a run."""
    network, topology = tilesim.load_network(workload), tilesim.load_topology(chip)
    sections = {
        key: (type(reduce(getattr, key.split(".")[:-1], topology)), key.split(".")[-1])
        for key in machine_of(topology).run_time_keys
    }
    read_keys.clear()
    program = tilesim.compile(network, topology)
    assert not machine_of(topology).faults(program)
    assert not {key for key, place in sections.items() if place in read_keys}
    assert read_keys, "others are read"
    read_keys.clear()
    tilesim.simulate(program)
    unread = {key for key, place in sections.items() if place not in read_keys}
    elsewhere = {"tile.multiplier_cycles", "classifier.cycles_per_element", "host.step_bytes_per_second"}
    assert unread <= elsewhere, "not for nothing"


@pytest.mark.soak
@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4", "tpu-v1"])
@pytest.mark.parametrize("model", ["mlperf_kws_dscnn", "mlperf_resnet8", "mlperf_vww_mnv1"])
def test_nor_programs_of_real_models(model: str, chip: str, models: Path) -> None:
    network, base = tilesim.load_network(models / model / "model.tflite"), tilesim.load_topology(chip)
    other = tilesim.load_topology(chip, {key: _other(base, key) for key in machine_of(base).run_time_keys})
    before, anew = tilesim.compile(network, base), tilesim.compile(network, other)
    _must_be_alike(before, anew)
    _must_run_alike(before.retargeted(other), anew)


@pytest.mark.parametrize("machine", list(BASE))
def test_they_are_keys_of_the_machine(machine: str) -> None:
    base = tilesim.load_topology(machine_named(machine).example)
    assert machine_of(base).run_time_keys <= {key.key for key in keys(base)}


def test_what_was_worked_out_goes_along(compiled: Mapping[tuple[str, str], Program]) -> None:
    before = compiled["pocket", "pocket-2x1"]
    asked: list[Program] = []

    def finding(program: Program) -> int:
        asked.append(program)
        return len(asked)

    assert before.once(finding) == 1
    moved = before.retargeted(tilesim.load_topology("pocket-2x1", {"clock_hz": 1000}))
    assert moved.once(finding) == 1
    assert asked == [before]

    def other(program: Program) -> int:
        asked.append(program)
        return len(asked)

    assert moved.once(other) == 2
    assert before.once(other) == 3, "what is found of one later is not known of the other"

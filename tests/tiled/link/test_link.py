"""Several inferences, one after the other: each gets what it would get alone, and overlaps with others at the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tilesim
from tests.tiled.mutate import without
from tilesim.machines.host import random_inputs
from tilesim.run import Run
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import NO_TOKEN, CacheRequest, link_programs, loads
from tilesim.tiled.rules.proof import proof_of

Arrays = list[list[NDArray[Any]]]


def programs(chip: str, *names: str, cache: bool = True, **changes: object) -> list[Program]:
    topology = tilesim.load_topology(chip, {key.replace("__", "."): value for key, value in changes.items()})
    networks = [replace(tilesim.load_network(name), name=name) for name in names]
    return tilesim.compile_networks(networks, topology, tilesim.CachePolicy(cache))


def arrays(some: Sequence[Program], order: Sequence[int]) -> Arrays:
    """Other ones for each request."""
    flat = iter(random_inputs(link_programs(some, order).inputs))
    return [[next(flat) for _ in some[number].inputs] for number in order]


def run_as_alone(some: Sequence[Program], order: Sequence[int]) -> Run:
    given = arrays(some, order)
    run = tilesim.simulate_requests(some, given, order)
    alone = [tilesim.simulate(some[number], own).outputs for number, own in zip(order, given, strict=True)]
    for got, expected in zip(run.outputs, (output for outputs in alone for output in outputs), strict=True):
        np.testing.assert_array_equal(got, expected)
    return run


@pytest.mark.parametrize(
    ("chip", "changes"),
    [
        ("edge-1x1", {}),
        ("edge-2x2", {}),
        ("edge-2x2", {"tile__strict_compare": True, "ring__queue": "shared"}),
        ("edge-2x2", {"wide_memory__size_bytes": "12KiB"}),
        ("edge-2x2", {"cache": False, "host__bytes_per_cycle": 1}),
    ],
)
def test_everyone_gets_what_they_would_get_alone(chip: str, changes: dict[str, Any]) -> None:
    some = programs(chip, "digits", "example-conv", **changes)
    run = run_as_alone(some, [0, 1, 0, 0, 1])
    document = run.statistics
    assert document["inferences"] == len(document["requests"]) == 5
    for unit in (*document["units"], *document["links"]):
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles
    assert document["macs"] == sum(
        times * sum(layer.macs for layer in program.layers) for times, program in zip((3, 2), some, strict=True)
    )
    assert sum(document["breakdown"].values()) == run.cycles * some[0].topology.tiles


def test_what_is_loaded_together_is_loaded_once() -> None:
    some = programs("edge-1x1", "digits", "example-conv")
    both = run_as_alone(some, [0, 1, 0, 1]).statistics
    alone = [tilesim.simulate(program, random_inputs(program.inputs)).statistics["load_cycles"] for program in some]
    assert [request["loaded"] for request in both["requests"]] == [True, True, False, False]
    fence_cycles = both["load_cycles"] - sum(alone)
    assert 0 < fence_cycles < 10


def test_a_network_that_streams_leaves_nothing_of_what_another_program_of_it_keeps() -> None:
    """Their parameters are the same, in data memory too."""
    [cached], [streamed] = programs("edge-1x1", "example-conv"), programs("edge-1x1", "example-conv", cache=False)
    run = run_as_alone([cached, streamed], [0, 1, 0])
    assert [request["loaded"] for request in run.statistics["requests"]] == [True, False, True]


def test_what_is_compiled_apart_is_loaded_again_and_again() -> None:
    apart = [programs("edge-1x1", name)[0] for name in ("digits", "example-conv")]
    run = run_as_alone(apart, [0, 1, 0, 0])
    assert [request["loaded"] for request in run.statistics["requests"]] == [True, True, True, False]
    _, second, third, last = run.statistics["requests"]
    load_cycles = [
        tilesim.simulate(program, random_inputs(program.inputs)).statistics["load_cycles"] for program in apart
    ]
    assert run.statistics["load_cycles"] == load_cycles[0]
    assert third["latency_cycles"] - last["latency_cycles"] == pytest.approx(load_cycles[0], abs=10)
    assert second["latency_cycles"] > load_cycles[1]
    nobody = [replace(program, token=0) for program in apart[:1]]
    assert all(request["loaded"] for request in run_as_alone(nobody, [0, 0]).statistics["requests"])


@pytest.mark.parametrize("name", ["digits", "example-conv"])
def test_the_host_sends_and_takes_while_tiles_compute(name: str) -> None:
    """An inference takes the longer the slower the host is, but one follows the other as fast: that takes the tiles."""
    intervals = set()
    for bytes_per_cycle in (1, 2, 8):
        [program] = programs("edge-1x1", name, host__bytes_per_cycle=bytes_per_cycle)
        document, row_bytes = run_as_alone([program], [0] * 4).statistics, program.topology.wide_memory.row_bytes
        ends = [request["end_cycle"] for request in document["requests"]]
        assert document["interval_cycles"] == ends[1] - ends[0] == ends[2] - ends[1] == ends[3] - ends[2]
        assert document["throughput_per_second"] == document["clock_hz"] / document["interval_cycles"]
        ways = [sum(tensor.rows for tensor in way) for way in (program.outputs, (*program.inputs, *program.outputs))]
        out_cycles, all_cycles = (rows * row_bytes // bytes_per_cycle for rows in ways)
        latency_cycles = document["requests"][0]["latency_cycles"]
        assert out_cycles < latency_cycles - document["interval_cycles"] < all_cycles
        assert document["latency_us"] == pytest.approx(latency_cycles / document["clock_hz"] * 1e6)
        intervals.add(document["interval_cycles"])
    assert len(intervals) == 1


def test_one_inference_is_a_series_of_one() -> None:
    [program] = programs("edge-1x1", "digits")
    one, given = tilesim.simulate(program, random_inputs(program.inputs)), arrays([program], [0])
    series_of_one = tilesim.simulate_requests([program], given)
    assert (one.cycles, one.statistics["interval_cycles"]) == (series_of_one.cycles, None)
    keys = {"network": "digits", "loaded": True, "start_cycle": 0, "end_cycle": one.cycles}
    assert one.statistics["requests"] == [{**keys, "latency_cycles": one.cycles, "outputs": [0]}]
    assert one.statistics["throughput_per_second"] == one.statistics["clock_hz"] / one.cycles
    assert {**one.statistics, "trace_sha256": 0} == {**series_of_one.statistics, "trace_sha256": 0}


def test_a_slow_classifier_is_not_overtaken() -> None:
    """The first one's reply is due when the second one's outputs have long been ready, which take another way."""
    some = programs("edge-2x2", "example-conv", "digits", classifier__cycles_per_element=500)
    document = run_as_alone(some, [0, 1, 1, 0]).statistics
    first, second = document["requests"][:2]
    assert second["start_cycle"] < first["end_cycle"] < second["end_cycle"]


@pytest.mark.parametrize("changes", [{}, {"wide_memory__size_bytes": "12KiB"}, {"cache": False}])
def test_the_whole_series_is_proven(changes: dict[str, Any]) -> None:
    """Whatever the delays, nothing meets on the ring, and every turn comes; but not without the wait for replies."""
    joint = link_programs(programs("edge-2x2", "example-conv", "digits", **changes), [0, 1, 0, 0])
    assert proof_of(joint).refutations == ()
    replies = next(k for k, op in enumerate(joint.run) if op.label == "replies.request2")
    assert "request1.output0.softmax" in proof_of(without(joint, "run", replies)).refutations[0].sentence


def test_a_saved_series_runs_the_same(tmp_path: Path) -> None:
    some, order = programs("edge-2x2", "digits", "example-conv"), [0, 1, 1]
    joint, given = link_programs(some, order), arrays(some, order)
    run = tilesim.simulate_requests(some, given, order)
    tilesim.save_program(joint, tmp_path / "joint.tasm")
    flat = [array for own in given for array in own]
    for again in (tilesim.load_program(tmp_path / "joint.tasm"), ASSEMBLY.binary.decode(ASSEMBLY.binary.encode(joint))):
        repeated = tilesim.simulate(again, flat)
        assert repeated.statistics == run.statistics
        assert all(map(np.array_equal, repeated.outputs, run.outputs))


@pytest.fixture(scope="module")
def twice() -> tuple[Program, Arrays, Run]:
    some = programs("edge-2x2", "digits")
    given = arrays(some, [0, 0])
    return link_programs(some, [0, 0]), given, tilesim.simulate_requests(some, given, [0, 0])


@pytest.mark.parametrize("share", range(12))
def test_nothing_in_a_series_is_decoration(twice: tuple[Program, Arrays, Run], share: int) -> None:
    """Without one instruction of the second request the run is refused, hangs, or gives something else."""
    joint, given, run = twice
    later = [k for k, op in enumerate(joint.run) if "request2" in op.label]
    missing = without(joint, "run", later[len(later) * share // 12])
    try:
        changed = tilesim.simulate(missing, [array for arrays in given for array in arrays])
    except tilesim.TilesimError:
        return
    assert not np.array_equal(changed.outputs[1], run.outputs[1])


def test_a_hang_tells_which_request(twice: tuple[Program, Arrays, Run]) -> None:
    joint, given, _ = twice
    place = next(k for k, op in enumerate(joint.run) if op.label.startswith("request2.output0.send"))
    with pytest.raises(tilesim.HangError) as caught:
        tilesim.simulate(without(joint, "run", place), [array for arrays in given for array in arrays])
    assert "rows of output request2." in str(caught.value)


def test_what_does_not_go_together_is_said() -> None:
    other = programs("edge-1x1", "digits")
    memory_bytes = 16 * (1 + sum(op.words for op in (*other[0].load, *other[0].run)))
    sizes = {"data_memory__size_bytes": "24KiB", "instruction_memory__size_bytes": memory_bytes}
    small = programs("edge-1x1", "digits", **sizes)
    with pytest.raises(
        tilesim.ProgramError, match="must be compiled for the chip of digits, edge-1x1, not for another"
    ):
        tilesim.simulate_requests([*small, *other], arrays(other, [0, 0]))
    twins = [*small, *small]
    with pytest.raises(tilesim.ProgramError) as caught:
        tilesim.simulate_requests(twins, arrays(other, [0, 0]))
    assert any(
        f"programs of 2 networks must fit the instruction memory of {memory_bytes} " in sentence
        for sentence in caught.value.faults
    )
    assert any(
        "parameters of 2 networks must fit the data memory of 24576" in sentence for sentence in caught.value.faults
    )
    with pytest.raises(tilesim.ArrayError, match="inputs of request 2 must be 1 array, not 2"):
        tilesim.simulate_requests(other, [arrays(other, [0])[0], [*arrays(other, [0])[0]] * 2])
    with pytest.raises(tilesim.InputError, match="order must name programs from 0 to 0"):
        tilesim.simulate_requests(other, arrays(other, [0]), [1])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"begins": ""}, "request 2: begins must name a scalar fence of the run, not"),
        ({"begins": "request1.start"}, "request 2: begins must name a scalar fence of the run"),
        ({"outputs": 2}, r"requests must have all 2 outputs among them, not 1 \+ 2"),
        ({"loads": 2}, "requests must have loads 0 or 1"),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    twice: tuple[Program, Arrays, Run], changes: dict[str, Any], sentence: str
) -> None:
    joint, _, _ = twice
    wrong = replace(joint, requests=(joint.requests[0], replace(joint.requests[1], **changes)))
    assert any(np.char.startswith(fault, "request") for fault in faults(wrong))
    with pytest.raises(tilesim.ProgramError, match=sentence):
        tilesim.simulate(wrong, [])


A, B = CacheRequest("a", 1), CacheRequest("b", 2)


def test_packages_with_tokens_of_their_own_drive_each_other_out() -> None:
    """Oracle 23, its first half: three times for a, a, b, a."""
    assert loads([A, A, B, A]) == (True, False, True, True)


@given(st.lists(st.sampled_from(["a", "b"])))
def test_packages_that_share_a_token_load_once_each(packages: list[str]) -> None:
    """Oracle 23, its second half: twice in all, however the two come."""
    loaded = loads(CacheRequest(package, 7) for package in packages)
    assert sum(loaded) == len(set(packages))
    assert [package for package, ran in zip(packages, loaded, strict=True) if ran] == list(dict.fromkeys(packages))


def test_without_a_token_nothing_outlives_a_request() -> None:
    alone = CacheRequest("c", NO_TOKEN)
    assert loads([alone, alone]) == (True, True)
    assert loads([A, alone, A]) == (True, True, True)


@pytest.mark.parametrize(("token", "again"), [(1, False), (2, True), (NO_TOKEN, True)])
def test_a_package_without_caching_program(token: int, again: bool) -> None:
    """It loads nothing itself; if it belongs to others, it overwrites what is there."""
    assert loads([A, CacheRequest("plain", token, caches=False), A]) == (True, False, again)


@given(st.lists(st.builds(CacheRequest, st.sampled_from("abc"), st.integers(0, 2), st.booleans())))
def test_a_program_runs_again_only_after_another_token(requests: list[CacheRequest]) -> None:
    for k, ran in enumerate(loads(requests)):
        request = requests[k]
        since: list[CacheRequest] = []
        for earlier in reversed(requests[:k]):
            if earlier.token != request.token or request.token == NO_TOKEN:
                break
            since.append(earlier)
        loaded = any(earlier.package == request.package and earlier.caches for earlier in since)
        assert ran == (request.caches and not loaded)

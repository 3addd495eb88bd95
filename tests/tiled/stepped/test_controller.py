"""The controller, the instruction bus, fences, the host and the classifier in the stepped model."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.stepped.bench import Times, run
from tilesim.arithmetic.requantise import float_bits
from tilesim.errors import ArrayError, ProgramError
from tilesim.tiled import stepped

FILL = "f: mesh_in tiles={0} side=north write=[w:{1} @0x0] fill=1"
FILL_WORDS = 6
OUTPUT = (
    ".output name=y index=0 dtype=int8 shape=1,1,1,{0} axes=0,1,2,3 element=i8 extent=1,1,{0} "
    "blocks=[origin:0,0,0 extent:1,1,{0} pixel_bytes:{0} rows:{1}]"
)
INPUT = OUTPUT.replace(".output name=y", ".input name=x")


@pytest.mark.parametrize(("hop", "width", "words"), [(1, 16, 6), (3, 16, 6), (1, 32, 3), (2, 96, 1)])
def test_an_instruction_is_in_stop_k_after_k_plus_one_hops_and_its_words(hop: int, width: int, words: int) -> None:
    times = run(FILL.format(3, 2), instruction_bus__hop_cycles=hop, instruction_bus__width_bytes=width)
    assert times.busy("controller") == list(range(words))
    assert [times.began(f"tile{k}.mesh_in_north") for k in (0, 1)] == [hop + words, 2 * hop + words]


def test_a_broadcast_starts_from_a_whole_instruction() -> None:
    times = run("b: broadcast tiles=1\n" + FILL.format(3, 2))
    assert times.began("tile0.mesh_in_north") == 1 + 1 + FILL_WORDS
    assert times.began("tile1.mesh_in_north") == 1 + 2 + 2 * FILL_WORDS


def test_a_full_buffer_stalls_the_bus() -> None:
    lines = "\n".join(FILL.format(1, 40).replace("f:", f"f{k}:") for k in range(4))
    times = run(lines, instruction_bus__buffer_depth=1)
    assert times.outcome.units["chip.instruction_bus.stop0"]["stall:fifo"] > 0
    assert times.began("tile0.mesh_in_north", "f2") == times.ended("tile0.mesh_in_north", "f1")


def test_fences_hold_tile_and_controller_until_the_engines_have_drained() -> None:
    lines = FILL.format(1, 20) + "\nt: tile_fence tiles=1 increment=1\ns: scalar_fence count=1\n" + FILL.format(1, 1)
    times = run(lines.replace("f:", "f0:", 1))
    drained = times.ended("tile0.mesh_in_north", "f0")
    assert times.busy("controller", "s") == [drained]
    assert times.began("tile0.mesh_in_north", "f") == drained + 1 + 1 + FILL_WORDS


def test_a_fence_resets_what_rose_before_it() -> None:
    """The second fill would wait for ever if the flag, once reset, did not rise again."""
    first = FILL.format(1, 1) + " produce=w\nt: tile_fence tiles=1 reset=mesh_north_in\n"
    waits = "g: mesh_in tiles=1 side=east write=[w:1 @0x0] fill=1 wait=mesh_north_in>={0}\n"
    assert stepped.simulate(program(first + waits.format(1)), []).hung == "run"
    assert not stepped.simulate(program(first + waits.format(0)), []).hung


def test_a_strict_comparison_wants_one_more() -> None:
    lines = FILL.format(1, 1) + " produce=w\ng: mesh_in tiles=1 side=east write=[w:1 @0x0] fill=1 wait=mesh_north_in>=1"
    assert not stepped.simulate(program(lines), []).hung
    assert stepped.simulate(program(lines, tile__strict_compare=True), []).hung == "run"


def host_run(lines: str, head: str, inputs: list[np.ndarray], **changes: object) -> Times:
    return Times(stepped.simulate(program(lines, head=head, **changes), inputs, trace=True))


@pytest.mark.parametrize("latency", [0, 5])
def test_rows_come_from_the_host_at_its_pace(latency: int) -> None:
    """16 bytes, 4 a cycle: row k is there at 4 * (k + 1) + latency, and enters the ring in that cycle."""
    lines = "i: infeed source=host rows=3 to=1\nc: ring_consume tiles=1 write=[r:3 @0x0+r*16]"
    x = np.zeros((1, 1, 1, 48), np.int8)
    times = host_run(lines, INPUT.format(48, 3), [x], host__latency_cycles=latency)
    assert times.busy("ring.link0") == [4 * (k + 1) + latency for k in range(3)]


def test_results_take_their_time_to_the_host_and_its_latency() -> None:
    lines = "o: outfeed output=0 rows=2\np: ring_produce tiles=2 read=[r:2 @0x0+r*16] to=8"
    times = host_run(lines, OUTPUT.format(32, 2), [], host__latency_cycles=7)
    taken = times.busy("outfeed")[0]
    assert times.busy("host.outfeed") == [*range(taken + 1, taken + 5), *range(taken + 6, taken + 10)]
    assert times.outcome.cycles == taken + 10 + 7
    assert [output.shape for output in times.outcome.outputs] == [(1, 1, 1, 32)]


@pytest.mark.parametrize("pace", [1, 3])
def test_the_classifier_takes_its_cycles_an_element(pace: int) -> None:
    scaling = f"{float_bits(0.1)[0]},{float_bits(1 / 256)[0]},-128,-128,127"
    lines = (
        f"k: classify rows=1 elements=10 function=softmax scaling={scaling}\no: outfeed output=0 rows=1\n"
        "p: ring_produce tiles=2 read=[r:1 @0x0] to=4"
    )
    times = host_run(lines, OUTPUT.format(10, 1), [], classifier__cycles_per_element=pace)
    busy = times.busy("classifier")
    assert len(busy) == 1 + 10 * pace + 1
    assert busy[-1] == busy[0] + 10 * pace + 1
    assert np.array_equal(times.outcome.outputs[0], np.full((1, 1, 1, 10), -128 + 26, np.int8))


def test_rows_are_forwarded_in_the_cycle_after_they_were_taken() -> None:
    lines = (
        "i: infeed source=ring rows=2 to=1\nc: ring_consume tiles=1 write=[r:2 @0x0+r*16]\n"
        "p: ring_produce tiles=2 read=[r:2 @0x0] to=8"
    )
    times = run(lines)
    assert times.busy("ring.link0") == [cycle + 1 for cycle in times.busy("outfeed")]


def test_what_it_can_not_run_is_refused() -> None:
    with pytest.raises(ProgramError, match="multiple of 16"):
        stepped.simulate(program("c: ring_consume tiles=1 write=[r:1 @0x8]"), [])
    lines = "i: infeed source=host rows=3 to=1\nc: ring_consume tiles=1 write=[r:3 @0x0+r*16]"
    made = program(lines, head=INPUT.format(48, 3))
    with pytest.raises(ArrayError, match="must be 1 array, not 0"):
        stepped.simulate(made, [])
    with pytest.raises(ArrayError, match="must be int8 of shape"):
        stepped.simulate(made, [np.zeros((2, 1, 1, 48), np.int8)])

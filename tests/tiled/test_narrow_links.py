"""Chips whose ring and mesh are narrower than a row and a word: both models, whole networks, and what a width costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

import tilesim
from tests.tiled.corpus.narrow import narrow_program
from tests.tiled.corpus.programs import inputs_of
from tilesim.errors import ProgramError
from tilesim.machines.verify import COLLIDED, ENDED, differences, event_result
from tilesim.statistics import RunStatistics
from tilesim.tiled.machine import Tiled

NUMBERS = 4000
FEW = 60
CASES = [
    ("pocket", "pocket-2x1"),
    ("digits", "edge-2x2"),
    ("example-conv", "edge-1x2"),
    ("example-residual", "edge-2x4"),
]
RING, MESH = "ring.width_bytes", "mesh.width_bytes"


def disagreements(numbers: Iterable[int], queues: int = 1) -> tuple[dict[int, str], Counter[str]]:
    """The programs on which the models differ, and how those of all ended."""
    different, ends = dict[int, str](), Counter[str]()
    for number in numbers:
        program = narrow_program(number, queues)
        try:
            event = event_result(Tiled(), program, inputs_of(program))
        except ProgramError:
            continue  # nothing orders two of its accesses: no program
        if found := differences(event, Tiled().step(program, inputs_of(program), trace=False)):
            different[number] = str(found[0])
        ends[event.end] += 1
    return different, ends


def test_a_few_random_programs_agree() -> None:
    different, ends = disagreements(range(NUMBERS, NUMBERS + FEW))
    assert not different
    assert ends.total() > 0.8 * FEW


def test_a_few_random_programs_on_both_channels_agree() -> None:
    different, ends = disagreements(range(NUMBERS + FEW, NUMBERS + 2 * FEW), queues=2)
    assert not different
    assert ends.total() > 0.8 * FEW


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunk", [4, *(pytest.param(chunk, marks=pytest.mark.soak) for chunk in range(20) if chunk != 4)]
)
def test_thousands_of_random_programs_on_both_channels_agree(chunk: int) -> None:
    different, ends = disagreements(range(chunk, NUMBERS, 20), queues=2)
    assert not different
    assert ends.total() > 0.8 * NUMBERS / 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunk", [3, *(pytest.param(chunk, marks=pytest.mark.soak) for chunk in range(20) if chunk != 3)]
)
def test_thousands_of_random_programs_agree(chunk: int) -> None:
    different, ends = disagreements(range(chunk, NUMBERS, 20))
    assert not different
    assert ends[COLLIDED]
    assert ends[ENDED] > 0.9 * ends.total() > 0.8 * NUMBERS / 20
    assert len(ends) > 2, "some must hang"


def run(workload: str, chip: str, **widths: int) -> tilesim.Run:
    keys = {{"ring": RING, "mesh": MESH}[bus]: width for bus, width in widths.items()}
    topology = tilesim.load_topology(chip, keys)
    return tilesim.simulate(tilesim.compile(tilesim.load_network(workload), topology, "spatial"), trace=False)


def widths_of(chip: str) -> tuple[list[int], list[int]]:
    """Those of the ring and of the mesh that there can be, the widest first."""
    topology = tilesim.load_topology(chip)
    wholes = topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes
    ring, mesh = ([whole >> k for k in range(whole.bit_length())] for whole in wholes)
    return ring, mesh


@pytest.mark.parametrize(("workload", "chip"), CASES)
def test_a_wider_link_is_not_slower(workload: str, chip: str) -> None:
    """As a rule: see below. The widest is what there is if no width is given."""
    ring, mesh = widths_of(chip)
    by_ring = [run(workload, chip, ring=width).cycles for width in ring]
    by_mesh = [run(workload, chip, mesh=width).cycles for width in mesh]
    assert by_ring[0] == by_mesh[0] == run(workload, chip).cycles
    assert by_ring == sorted(by_ring)
    assert by_mesh == sorted(by_mesh)
    assert by_ring[-1] > by_ring[0], "rows have to come over the ring"


def stalled(statistics: RunStatistics, ending: str, reason: str) -> int:
    units = [unit for unit in statistics["units"] if unit["track"].endswith(ending)]
    return sum(unit["stall_cycles"].get(reason, 0) for unit in units)


def test_words_that_come_less_densely_may_hold_up_a_layer_less() -> None:
    """The counterexample: words for a neighbour go before the MAC array at the narrow read port. On a mesh of half the
    width they leave every other cycle, and many in cycles in which the array reads nothing: so it waits less for its
    port, although as many words are read.
    """
    wide, half = (run("example-conv", "fig2-5x2", mesh=width) for width in (4, 2))
    assert half.cycles < wide.cycles
    assert stalled(half.statistics, ".mac_array", "port") < stalled(wide.statistics, ".mac_array", "port")
    reads = [run.statistics["energy"]["actions"]["narrow_read"]["count"] for run in (wide, half)]
    assert reads[0] == reads[1]


@pytest.mark.parametrize(("ring", "mesh"), [(256, 4), (64, 2), (8, 1)])
def test_links_are_busy_for_each_part_and_carry_the_same_bytes(ring: int, mesh: int) -> None:
    found, plain = run("digits", "edge-2x2", ring=ring, mesh=mesh), run("digits", "edge-2x2")
    before = {link["track"]: link for link in plain.statistics["links"]}
    for link in found.statistics["links"]:
        width = ring if "ring" in link["track"] else mesh if "mesh" in link["track"] else None
        assert link["bytes"] == before[link["track"]]["bytes"]
        if width is not None:
            assert link["busy_cycles"] * width == link["bytes"]
    for bus in ("ring", "mesh"):
        assert found.statistics["bytes"][bus] == plain.statistics["bytes"][bus]
    for action in ("ring_hop", "mesh_hop"):
        ours, theirs = (each.statistics["energy"]["actions"][action] for each in (found, plain))
        assert ours == theirs
    assert (found.outputs[0] == plain.outputs[0]).all()


def test_the_last_row_of_a_single_tile_costs_the_parts_that_follow_its_header() -> None:
    """Everything before comes earlier than it is needed, as long as a row takes no longer than one from the host."""
    plain, parts = run("digits", "edge-1x1").cycles, (2, 4, 8, 16)
    found = [run("digits", "edge-1x1", ring=256 // k).cycles for k in parts]
    assert found == [plain + k - 1 for k in parts]


def test_a_real_model_runs_bit_for_bit(models: Path) -> None:
    """On a ring as wide as that of a chip that can be bought, 8 bytes a cycle."""
    network = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"))
    plain = tilesim.simulate(program)
    found = tilesim.simulate(program.retargeted(tilesim.load_topology("edge-4x4", {RING: 8})))
    assert found.cycles > plain.cycles
    assert (found.outputs[0] == plain.outputs[0]).all()
    assert busiest(found) * 8 == busiest(plain) * 256


def busiest(run: tilesim.Run) -> int:
    """Cycles in which the busiest link of the ring carries something."""
    return max(link["busy_cycles"] for link in run.statistics["links"] if ".ring." in link["track"])


WIDTHS = {RING: (8, 32, 128, 256), MESH: (1, 2, 4), "tile.vector_bytes": (1, 2, 4)}
"""Of edge-4x4, the narrowest first; the widest is its own."""


@pytest.mark.parametrize("key", WIDTHS)
@pytest.mark.parametrize("name", ["mlperf_kws_dscnn", "mlperf_resnet8"])
def test_a_sweep_over_a_width_goes_one_way(models: Path, name: str, key: str) -> None:
    """As layers are mapped by default, which may be otherwise for each width: no wider one is slower by 1 %."""
    network = tilesim.load_network(models / name / "model.tflite")
    cycles = [
        tilesim.simulate(tilesim.compile(network, tilesim.load_topology("edge-4x4", {key: width}))).cycles
        for width in WIDTHS[key]
    ]
    assert all(wider <= 1.01 * narrower for narrower, wider in pairwise(cycles))
    assert cycles[-1] <= cycles[0]

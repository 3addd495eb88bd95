"""What bound a layer, in cycles counted by hand on a chip of two tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tilesim.sim.core.unit import Reason
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.run.bottleneck import _cycles
from tilesim.tiled.run.shares import Shares

LAYERS = (
    ".layer name=both kind=maxpool macs=0\n.layer name=first kind=maxpool macs=0\n.layer name=none kind=softmax macs=0"
)
RUN = """
take: ring_consume tiles=0x3 write=[r:2 @0x0+r*16] produce=r layer=0
feed: infeed source=data rows=2 to=0x3 layer=0
move: wide_to_narrow tiles=0x3 read=[r:2 @0x0+r*16] write=[w:8 @0x0+w*4] wait=ring_read_a>=1 produce=r layer=0
both: tensorop tiles=0x3 operation=maximum nest=[x:8,lane:4] input=@0x0+x*4 output=@0x40+x*4 wait=wide_to_narrow>=1 \
 produce=x layer=0
fill: mesh_in tiles=0x1 side=north write=[w:100 @0x200+w*4] fill=0 wait=avdata>=1 produce=w \
 layer=1
first: tensorop tiles=0x1 operation=maximum nest=[x:2,k:3,lane:4] reduce=k input=@0x200+k*4 output=@0x80+x*4 \
 wait=mesh_north_in>=1,avdata>=1 layer=1
"""


def statistics(**changes: object) -> dict[str, Any]:
    return tilesim.simulate(program(RUN, head=LAYERS, **changes), []).statistics


def test_every_cycle_has_its_cause() -> None:
    found = statistics()
    both, first, none = found["layers"]
    # The words of take, feed, move and both enter by cycles 4, 5, 12 and 29; tile k has the last one k + 1 later.
    # A row takes 8 cycles out of data memory and one to enter: the second one is sent in cycle 22, and stands at tile k
    # in cycle 23 + k. Then 2 rows of 4 words are moved in 9 cycles.
    assert both["breakdown"] == {"instruction bus": 30 + 31, "macs": 2 * 8, "ring": 3 + 3, "output write": 2}
    # Tile 0 is through with the layer at 33 + 9, when fill starts; it takes 101 cycles. first, of 17 words, follows
    # both and the 6 words of fill, so it is there at 53.
    assert first["breakdown"] == {"mesh": 42 + 101 - 53, "instruction bus": 53 - 42, "macs": 6, "output write": 1}
    assert (both["bound_by"], first["bound_by"], none["bound_by"]) == ("instruction bus", "mesh", None)
    assert (both["tiles"], first["tiles"], none["tiles"]) == (2, 1, 0)
    assert (both["cycles"], first["cycles"], none["cycles"]) == (10, 7, 0)
    assert (both["mac_busy_cycles"], none["breakdown"]) == (16, {})
    assert found["bound_by"] == "no work"
    assert found["breakdown"]["no work"] == found["cycles"] - 43, "tile 1 has no more work from 43 on"
    assert sum(found["breakdown"].values()) == 2 * found["cycles"]
    arrays = {unit["track"]: unit for unit in found["units"] if unit["track"].endswith(("mac_array", "tensor"))}
    assert arrays["chip.tile1.mac_array"]["stall_cycles"] == {"fifo": 1, "flag": 3, "work": found["cycles"] - 43}
    assert arrays["chip.tile1.tensor"]["stall_cycles"] == {"flag": 3, "work": found["cycles"] - 43}
    assert arrays["chip.tile0.mac_array"]["stall_cycles"].get("work", 0) == 0


def test_rows_that_come_from_the_host_are_the_host_s() -> None:
    chip = tilesim.load_topology("pocket-2x1", {"host.latency_cycles": 900})
    compiled = tilesim.compile(tilesim.load_network("pocket"), chip, "spatial")
    run = tuple(replace(op, layer=0) if isinstance(op, Infeed) else op for op in compiled.run)
    found = tilesim.simulate(replace(compiled, run=run), np.zeros((1, 4, 4, 4), np.int8)).statistics
    first, *others = found["layers"]
    assert first["bound_by"] == "host"
    assert "ring" not in first["breakdown"]
    assert all("host" not in layer["breakdown"] for layer in others)


@pytest.mark.parametrize("workload", ["digits", "example-conv", "example-residual"])
@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2"])
def test_layers_have_all_cycles_of_the_mac_arrays_but_those_without_work(workload: str, chip: str) -> None:
    network = tilesim.load_network(workload)
    compiled = tilesim.compile(network, tilesim.load_topology(chip))
    run = tilesim.simulate(compiled, [np.zeros(each.shape, each.dtype) for each in compiled.inputs])
    arrays = [unit for unit in run.statistics["units"] if unit["track"].endswith("mac_array")]
    at_work = sum(run.cycles - unit["stall_cycles"].get("work", 0) for unit in arrays)
    assert sum(cycles for layer in run.statistics["layers"] for cycles in layer["breakdown"].values()) == at_work
    for layer in run.statistics["layers"]:
        assert layer["mac_busy_cycles"] == layer["breakdown"].get("macs", 0)
        assert list(layer["breakdown"].values()) == sorted(layer["breakdown"].values(), reverse=True)


def test_time_in_which_layers_ran_elsewhere_is_no_wait_of_the_next_layer() -> None:
    """A layer of two tiles after one of the first tile only: the second tile had nothing to do until that was over."""
    alone = "alone: tensorop tiles=1 operation=maximum nest=[x:40,lane:4] input=@0x0 output=@0x40 produce=x layer=0"
    joined = (
        "tensorop tiles=3 operation=maximum nest=[x:2,lane:4] input=@0x0 output=@0x80 wait=mesh_north_in>=1 layer=1"
    )
    fill = "\n".join(
        f"mesh_in tiles={tile} side=north write=[w:{words} @0x100+w*4] fill=0 produce=w"
        for tile, words in ((1, 2), (2, 350))
    )
    found = tilesim.simulate(program(f"{alone}\n{fill}\n{joined}", head=LAYERS), []).statistics
    first, second, _ = found["layers"]
    end = first["start_cycle"] + first["cycles"]
    assert second["breakdown"]["no work"] == end
    assert second["bound_by"] == "mesh"


def test_waits_are_for_nothing_to_do_for_the_host_or_for_what_they_say() -> None:
    """Tile 0 works on layers 0 and 2, tile 1 on 1 and 2; the controller begins in cycle 4."""
    waits = [
        (0, 0, 1, 0, 10),  # for an instruction, which has come from the host in cycle 4
        (1, 1, 1, 0, 12),  # while layer 0 is on the other tile
        (0, 2, 2, 20, 30),  # first while layer 1 is, up to 26
        (1, 2, 2, 26, 35),
    ]
    worked = [(0, 0, 10, 20), (1, 1, 12, 26), (0, 2, 30, 40), (1, 2, 35, 45)]
    spent = [(10, 0, 0), (14, 0, 0), (15, 0, 5), (0, 0, 0)]
    part = Shares(0, ("busy", Reason.INSTRUCTION, Reason.FIFO), np.array(worked), np.array(spent), np.array(waits))
    assert _cycles(part, 4).tolist() == [[10, 6, 0, 0, 4], [14, 0, 0, 12, 0], [15, 0, 5 + 4 + 9, 6, 0], [0] * 5]


def test_nothing_is_made_of_a_part_in_which_nobody_worked() -> None:
    none = np.zeros((0, 5), np.int64)
    assert _cycles(Shares(7, (), none[:, :4], np.zeros((2, 0), np.int64), none), 9).tolist() == [[0, 0], [0, 0]]

"""Transfers that follow each other closely, whoever begins when: every unit spends the cycles of the second model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiled.programs import program
from tilesim import simulate
from tilesim.errors import HangError
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.instructions import Classify
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.classification import classified


def agrees(lines: str, held: dict[str, int] | None = None, **keys: object) -> None:
    """Both models say the same of a program of which some instructions are held."""
    subject = program(lines, **keys)
    other = stepped.simulate(
        subject, [], observes=True, holds={(label, None): cycle for label, cycle in (held or {}).items()}
    )
    try:
        run = simulate(subject, [], rules="observe", holds=held or {}, engine="simpy")
    except HangError:
        assert other.hung
        return
    assert not other.hung
    assert run.cycles == other.cycles
    for each in (*run.statistics["units"], *run.statistics["links"]):
        theirs = {kind: cycles for kind, cycles in other.units[each["track"]].items() if cycles and kind != "idle"}
        assert spent(each) == theirs, each["track"]


def spent(unit: dict[str, Any]) -> dict[str, int]:
    """A unit's cycles by kind, but for idle ones."""
    stalls = {f"stall:{reason}": cycles for reason, cycles in unit["stall_cycles"].items()}
    return {kind: cycles for kind, cycles in {"busy": unit["busy_cycles"], **stalls}.items() if cycles}


RELAY = """
first: ring_consume tiles=2 write=[r:{0} @0x100+r*16]
second: ring_consume tiles=4 write=[r:{0} @0x0+r*16]
one: ring_produce tiles=1 read=[r:{0} @0x0+r*16] to=2
other: ring_produce tiles=2 read=[r:{0} @0x0+r*16] to=4
"""


@pytest.mark.parametrize("width", [16, 4])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_row_may_leave_in_the_cycle_in_which_another_ends(rows: int, width: int) -> None:
    """And one that would be read while another is committed waits for the port."""
    for start in range(10, 34):
        agrees(RELAY.format(rows), {"one": 20, "other": start}, grid__rows=3, ring__width_bytes=width)


def test_a_row_that_can_not_leave_is_fetched_all_the_same() -> None:
    """Each row when its flag tells, though nobody takes rows yet: another engine has to leave it the port."""
    lines = """
flags: mesh_in tiles=1 side=north write=[r:4,w:5 @0x0+r*20+w*4] fill=1 produce=w
send: ring_produce tiles=1 read=[r:4 @0x0+r*16] to=2 wait=mesh_north_in@r>=1+1
copy: wide_to_narrow tiles=1 read=[r:4 @0x200+r*16] write=[w:16 @0x100+w*4]
take: ring_consume tiles=2 write=[r:4 @0x100+r*16]
"""
    for start in range(18, 28):
        agrees(lines, {"copy": start, "take": 80})


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize("on", [0, 40])
def test_a_byte_filters_extra_commit_keeps_a_row_from_being_read(on: int, ports: int) -> None:
    lines = """
first: ring_consume tiles=2 write=[r:2 @0x100+r*16] filter=[rows:2 first:3 keep:15 gap:1]
send: infeed source=data rows=2 to=2
second: ring_consume tiles=1 write=[r:1 @0x0]
on: ring_produce tiles=2 read=[r:1 @0x0] to=1 wait=ring_producer_a>=1
"""
    agrees(lines, {"on": on}, ring__byte_filter=True, wide_memory__ports=ports)


MULTICAST = """
send: infeed source=data rows=2 to=2
first: ring_consume tiles=2 write=[r:2 @0x100+r*16]
both: ring_consume tiles=3 write=[r:3 @0x200+r*16]
all: infeed source=data rows=3 to=3
"""


@pytest.mark.parametrize("first", [30, 50])
@pytest.mark.parametrize("both", range(20, 60, 3))
def test_a_link_stalls_for_want_of_a_credit_alone(first: int, both: int) -> None:
    """Tile 1 is full until ``first`` is posted; tile 0 takes none of the rows for both until ``both`` is."""
    keys = {"data_memory__bytes_per_cycle": 16}
    agrees(MULTICAST, {"first": first, "both": both}, **keys)
    run = simulate(program(MULTICAST, **keys), [], holds={"first": first, "both": both})
    [link] = [each for each in run.statistics["links"] if each["track"] == "chip.ring.link1"]
    assert link["stall_cycles"].get("credit", 0) == max(first + 1 - both, 0)


@st.composite
def rings(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """Some masters on four tiles, consumers for most rows, and when they begin."""
    lines, held = [], {}
    for k in range(draw(st.integers(1, 4))):
        master, rows = draw(st.integers(0, 4)), draw(st.integers(1, 4))
        to = draw(st.sets(st.integers(0, 3), min_size=1).filter(lambda to, m=master: to != {m - 1})) - {master - 1}  # type: ignore[misc]
        bits = sum(1 << tile for tile in to)
        lines += [
            f"take{k}: ring_consume tiles={bits} write=[r:{rows} @{0x100 + 64 * k}+r*16]",
            f"send{k}: infeed source=data rows={rows} to={bits}"
            if master == 0
            else f"send{k}: ring_produce tiles={1 << master - 1} read=[r:{rows} @0x0+r*16] to={bits}",
        ]
        held |= {f"{name}{k}": draw(st.integers(0, 60)) for name in ("take", "send")}
    return "\n".join(lines), held


@settings(max_examples=60, deadline=None)
@given(rings(), st.integers(1, 3), st.sampled_from([2, 16]))
def test_whatever_begins_when(ring: tuple[str, dict[str, int]], hop: int, rate: int) -> None:
    lines, held = ring
    agrees(lines, held, grid__rows=4, ring__hop_cycles=hop, data_memory__bytes_per_cycle=rate)


MIXED = """
{receive}
parameters: infeed source=data rows=1 to={to}
activations: infeed source=host rows=1 to={to}
{more}
"""
SOFTMAX = "rows=2 elements=32 function=softmax scaling=1056964608,998244352,-128,-128,127"


@pytest.mark.parametrize(
    ("receive", "to", "more"),
    [
        ("take: ring_consume tiles=1 write=[r:2 @0x100+r*16]", 1, ""),
        (f"take: classify {SOFTMAX}", 4, "out: outfeed output=0 rows=2"),
        ("", 8, "out: outfeed output=0 rows=2"),
        ("", 8, "take: ring_consume tiles=1 write=[r:2 @0x100+r*16]\non: infeed source=ring rows=2 to=1"),
    ],
)
def test_rows_that_are_all_samples_may_mix_with_others(receive: str, to: int, more: str) -> None:
    """Those of data memory are there once, those of the host once a sample."""
    subject = program(MIXED.format(receive=receive, to=to, more=more))
    chip = Chip(subject.topology, 2, None, lambda _tile, _label: None)
    chip.data_memory.bytes[:] = 5
    host = np.arange(32, dtype=np.uint8).reshape(2, 16)
    chip.run(subject.run, [host])
    wide, received = chip.tiles[0].memories.wide, chip.host_outfeed.received
    found = chip.host_outfeed.output(0) if received else wide.bytes[:, 0x100:0x120]
    rows = np.stack([np.concatenate([np.full(16, 5, np.uint8), row]) for row in host])
    if "classify" in receive:
        [op] = (op for op in subject.run if isinstance(op, Classify))
        rows = classified(op, rows.reshape(2, 2, 16))
    assert np.array_equal(found, rows)

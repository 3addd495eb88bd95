"""The tensor control: cycles of a tensorop, what shares a port, and what waits for what it has yet to write."""

from __future__ import annotations

import pytest

from tests.tiled.programs import program
from tests.tiled.stepped.bench import run
from tilesim.tiled import stepped

CONVOLUTION = "a: tensorop tiles=1 operation=convolution"


@pytest.mark.parametrize(("groups", "steps"), [(1, 1), (3, 1), (4, 5), (2, 9)])
def test_a_convolution_takes_its_steps_three_rows_and_its_words(groups: int, steps: int) -> None:
    """G * s + 3 * p + w; four lanes are one word."""
    op = (
        f"{CONVOLUTION} nest=[g:{groups},k:{steps},z:4] reduce=k input=@0x0+k*4 weights=@0x0+k*16 "
        "parameters=@0x400 output=@0x400+g*4 rule=double"
    )
    times = run(op)
    assert times.lasted("tile0.tensor", "a") == groups * steps + 3 + 1
    assert len(times.busy("tile0.mac_array")) == groups * steps


def test_parameters_are_read_when_their_row_changes() -> None:
    op = (
        f"{CONVOLUTION} nest=[g:2,h:3,z:4] input=@0x0 weights=@0x0 parameters=@0x400+g*48 output=@0x400+g*4 rule=double"
    )
    assert run(op).lasted("tile0.tensor", "a") == 6 + 3 * 2 + 1


@pytest.mark.parametrize(("words", "groups"), [(2, 1), (4, 3)])
def test_the_output_port_bounds_short_groups(words: int, groups: int) -> None:
    """s + G * w where the steps are fewer than the words."""
    lanes = 4 * words
    op = f"{CONVOLUTION} nest=[g:{groups},z:{lanes}] input=@0x0 weights=@0x0 parameters=@0x400 "
    chip = {"tile__lanes": 16, "wide_memory__row_bytes": 64}
    times = run(op + f"output=@0x400+g*{lanes} rule=double", **chip)
    assert times.lasted("tile0.tensor", "a") == 1 + 3 + groups * words


@pytest.mark.parametrize(("ports", "cycles"), [(1, 3 + 16), (2, 2)])
def test_oracle_6_sums_cost_a_cycle_a_group_on_one_wide_port(ports: int, cycles: int) -> None:
    """1152 issue cycles in 16 groups, each of which reads a row of sums first, the first one its parameters, too."""
    op = f"{CONVOLUTION} nest=[g:16,k:72,z:4] reduce=k input=@0x0+k*4 weights=@0x0+k*16 "
    times = run(op + "parameters=@0x700 sums_in=@0x800+g*16 output=@0x400+g*4 rule=double", wide_memory__ports=ports)
    assert times.lasted("tile0.tensor", "a") == 1152 + cycles + 1


def test_a_row_of_sums_that_leaves_holds_the_issue_on_one_port() -> None:
    op = f"{CONVOLUTION} nest=[g:16,k:5,z:4] reduce=k input=@0x0+k*4 weights=@0x0+k*16 sums_out=@0x800+g*16"
    assert run(op).lasted("tile0.tensor", "a") == 16 * 6
    assert run(op, wide_memory__ports=2).lasted("tile0.tensor", "a") == 16 * 5 + 1


@pytest.mark.parametrize(("ports", "more"), [(1, 2), (2, 1)])
def test_sums_in_place_wait_for_the_row_before(ports: int, more: int) -> None:
    op = f"{CONVOLUTION} nest=[g:5,k:3,z:4] reduce=k input=@0x0+k*4 weights=@0x0+k*16 "
    times = run(op + "sums_in=@0x800 sums_out=@0x800", wide_memory__ports=ports)
    assert times.lasted("tile0.tensor", "a") == 5 * (3 + more)
    assert times.outcome.units["chip.tile0.mac_array"]["stall:hazard"] == 4


@pytest.mark.parametrize(
    ("widths", "cycles"),
    [
        ("8,8", 1),
        ("16,8 input_type=i16", 2),
        ("8,16 weight_type=i16", 2),
        ("16,16 input_type=i16 weight_type=i16", 4),
    ],
)
def test_wider_operands_take_more_cycles_a_step(widths: str, cycles: int) -> None:
    op = f"{CONVOLUTION} nest=[g:2,k:3,z:4] reduce=k input=@0x0 weights=@0x0 sums_out=@0x800+g*16 widths={widths}"
    assert len(run(op).busy("tile0.mac_array")) == 6 * cycles


def test_two_ports_deliver_two_parameter_rows_in_a_cycle() -> None:
    """Two rows, then the third beside the first issue."""
    op = f"{CONVOLUTION} nest=[k:4,z:4] reduce=k input=@0x0 weights=@0x0 parameters=@0x400 output=@0x400 rule=double"
    assert run(op, wide_memory__ports=2).lasted("tile0.tensor", "a") == 1 + 4 + 1


def test_a_row_for_a_dma_costs_the_tensor_control_one_cycle() -> None:
    op = f"{CONVOLUTION} nest=[g:4,k:16,z:4] reduce=k input=@0x0 weights=@0x0 sums_out=@0x800+g*16"
    alone = run(op).lasted("tile0.tensor", "a")
    dma = "b: wide_to_narrow tiles=1 read=[r:2 @0xc00+r*16] write=[w:8 @0x200+w*4]"
    assert run(f"{op}\n{dma}").lasted("tile0.tensor", "a") == alone + 2


def test_a_loop_raises_the_flag_with_its_last_write() -> None:
    op = f"{CONVOLUTION} nest=[g:2,k:3,z:4] reduce=k input=@0x0 weights=@0x0 sums_out=@0x800+g*16 produce=g\n"
    wait = "b: wide_to_narrow tiles=1 read=[r:1 @0x800] write=[w:4 @0x200+w*4] wait=partial_sums>=1"
    times = run(op + wait)
    assert times.spans("tile0.wide_to_narrow")[0][2] == "stall:flag"
    assert times.busy("tile0.wide_to_narrow")[0] == times.ended("tile0.tensor", "a")


def test_a_group_waits_for_the_flag_of_its_loop() -> None:
    """Two words of a fill that come one after the other let one group each go."""
    fill = "f: mesh_in tiles=1 side=north write=[w:2,v:1 @0x0+w*4] fill=1 produce=v\n"
    op = f"{CONVOLUTION} nest=[g:2,k:3,z:4] reduce=k input=@0x0 weights=@0x0 sums_out=@0x800+g*16 "
    op += "wait=mesh_north_in@g>=1+1"
    times = run(fill + op)
    assert times.began("tile0.tensor", "a") >= times.ended("tile0.mesh_in_north")
    hold = "h: mesh_in tiles=1 side=north write=[w:30 @0x0+w*4] fill=1 produce=w\n"
    times = run(fill + hold + op.replace("g>=1+1", "g>=1+2"))
    issues = times.busy("tile0.mac_array")
    assert issues[3] == times.ended("tile0.mesh_in_north", "h")


def test_lanes_beyond_the_alternate_limit_are_not_written() -> None:
    """A sum of ones, of one lane only, over a row of nothing."""
    head = (
        ".output name=y index=0 dtype=int8 shape=1,1,1,16 axes=0,1,2,3 element=i8 extent=1,1,16 "
        "blocks=[origin:0,0,0 extent:1,1,16 pixel_bytes:16 rows:1]"
    )
    lines = (
        "f: mesh_in tiles=1 side=north write=[w:8 @0x0+w*4] fill=1 produce=w\n"
        "t: tensorop tiles=1 operation=sum nest=[g:1,z:4 alternate g:1] input=@0x0 sums_out=@0x0 produce=g "
        "wait=mesh_north_in>=1\no: outfeed output=0 rows=1\n"
        "p: ring_produce tiles=1 read=[r:1 @0x0] to=8 wait=partial_sums>=1"
    )
    [row] = stepped.simulate(program(lines, head=head), []).outputs
    assert row.ravel().tolist() == [1] + [0] * 15

"""Which accesses of a tile are in a proven order, and waits for later instructions."""

import pytest

from tests.tiled.programs import program
from tilesim.tiled.rules.tile.hazards import hazards

RECEIVE = "in: ring_consume tiles=0x1 write=[r:2 @0x0+r*16] produce=r"
SEND = "send: infeed source=data rows=2 to=0x1"
MOVE = "move: wide_to_narrow tiles=0x1 read=[r:2 @0x0+r*16] write=[w:8 @0x0+w*4]"


def test_a_flag_orders_two_engines() -> None:
    assert hazards(program(f"{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1")) == []


def test_without_it_the_pair_and_the_bytes_are_named() -> None:
    assert hazards(program(f"{RECEIVE}\n{SEND}\n{MOVE}")) == [
        (
            "tile 0: nothing orders in (ring_consume), which writes wide bytes between 0x0 and 0x1f, and "
            "move (wide_to_narrow), which reads them; a watcher or a fence must"
        )
    ]


def test_a_count_that_is_too_low_orders_nothing() -> None:
    assert len(hazards(program(f"{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=0"))) == 1


def test_what_never_starts_touches_nothing() -> None:
    """The run will hang and say so, which is the better report."""
    stuck = f"{MOVE} wait=ring_read_a>=2 produce=r"
    assert hazards(program(f"{RECEIVE}\n{SEND}\n{stuck}")) == []
    behind = "narrow_to_wide tiles=0x1 read=[w:4 @0x0+w*4] write=[r:1 @0x0] wait=wide_to_narrow>=1"
    assert hazards(program(f"{RECEIVE}\n{SEND}\n{stuck}\n{behind}")) == []


def test_bytes_that_do_not_meet_need_no_order() -> None:
    assert hazards(program(f"{RECEIVE}\n{SEND}\n{MOVE.replace('@0x0+r*16', '@0x20+r*16')}")) == []


def test_two_readers_need_no_order() -> None:
    other = "narrow_to_wide tiles=0x1 read=[w:4 @0x0+w*4] write=[r:1 @0x80]"
    add = "tensorop tiles=0x1 operation=maximum nest=[x:4,lane:4] input=@0x0+x*4 output=@0x40+x*4"
    assert hazards(program(f"{other}\n{add}")) == []


def test_a_fence_orders_what_stands_around_it() -> None:
    assert hazards(program(f"{RECEIVE}\n{SEND}\ntile_fence tiles=0x1\n{MOVE}")) == []
    assert hazards(program(f"{RECEIVE}\n{SEND}\ntile_fence tiles=0x1 idle=tensor\n{MOVE}")) != []


def test_the_load_program_is_over_when_the_run_begins() -> None:
    assert hazards(program(MOVE, load=f"{RECEIVE}\n{SEND}")) == []


def test_a_flag_that_a_fence_has_reset_counts_anew() -> None:
    after = f"tile_fence tiles=0x1 reset=ring_read_a\n{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1"
    assert hazards(program(after, load=f"old{RECEIVE}\nold{SEND}")) == []
    stale = f"{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1"
    assert len(hazards(program(stale, load=f"old{RECEIVE}\nold{SEND}"))) == 1


def test_order_follows_chains_and_later_instructions() -> None:
    last = "narrow_to_wide tiles=0x1 read=[w:4 @0x80+w*4] write=[r:1 @0x0] wait=wide_to_narrow>=1"
    assert hazards(program(f"{last}\n{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1 produce=r")) == []


@pytest.mark.parametrize(("expected", "safe"), [(1, True), (0, False)])
def test_a_loop_watcher_holds_the_first_round_too(expected: int, safe: bool) -> None:
    last = f"narrow_to_wide tiles=0x1 read=[w:8 @0x80+w*4] write=[r:2 @0x0+r*16] wait=wide_to_narrow@r>={expected}+0"
    sentences = hazards(program(f"{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1 produce=r\n{last}"))
    assert (sentences == []) is safe


@pytest.mark.parametrize(("expected", "safe"), [(1, True), (0, False)])
def test_a_loop_watcher_lets_rows_follow_rows(expected: int, safe: bool) -> None:
    by_row = RECEIVE.replace("r:2", "r:2,b:1").replace("produce=r", "produce=b")
    sentences = hazards(program(f"{by_row}\n{SEND}\n{MOVE} wait=ring_read_a@r>={expected}+1"))
    assert (sentences == []) is safe


def test_a_loop_watcher_without_a_stride_lets_the_second_row_go_early() -> None:
    by_row = RECEIVE.replace("r:2", "r:2,b:1").replace("produce=r", "produce=b")
    assert len(hazards(program(f"{by_row}\n{SEND}\n{MOVE} wait=ring_read_a@r>=1+0"))) == 1


def test_a_tensorop_may_read_what_its_earlier_groups_wrote() -> None:
    """Its interlock keeps them in order."""
    sums = "t: tensorop tiles=0x1 operation=convolution nest=[k:3,x:2,lane:4] input=@0x0 weights=@0x80 "
    assert hazards(program(f"{sums} sums_in=@0x0+x*16 sums_out=@0x0+x*16")) == []
    assert hazards(program(f"{sums} sums_in=@0x0+x*16 sums_out=@0x10+x*16")) == []


def test_a_fence_must_wait_for_the_engines_whose_flags_it_resets() -> None:
    rest = f"{RECEIVE}\n{SEND}\nf: tile_fence tiles=0x1 idle=tensor reset=ring_read_a"
    assert hazards(program(rest)) == [
        "tile 0: f resets ring_read_a, which in may still raise: its idle must name ring_consumer"
    ]
    assert hazards(program(rest.replace("idle=tensor", "idle=ring_consumer"))) == []


def test_words_are_counted_in_the_rows_that_watchers_count() -> None:
    """A row is gathered from four words: that the first of them has come is not enough."""
    fill = "a: mesh_in tiles=0x1 side=north write=[w:4,b:1 @0x0+w*4] fill=0 produce=b"
    gather = "narrow_to_wide tiles=0x1 read=[w:4 @0x0+w*4] write=[r:1 @0x0]"
    assert len(hazards(program(f"{fill}\n{gather} wait=mesh_north_in@r>=1+1"))) == 1
    assert hazards(program(f"{fill}\n{gather} wait=mesh_north_in@r>=4+1")) == []


def test_a_turn_on_the_ring_orders_nothing_in_the_tile_and_hides_nothing() -> None:
    """It may always come, so what waits for it does start; a fence may reset it."""
    turn = "out: ring_produce tiles=0x1 read=[r:1 @0x0] to=0x8 wait=ring_producer_a>=1"
    gather = "in: narrow_to_wide tiles=0x1 read=[w:4 @0x0+w*4] write=[r:1 @0x0]"
    assert len(hazards(program(f"{gather} produce=r\n{turn}"))) == 1
    assert hazards(program(f"{gather} produce=r\n{turn},narrow_to_wide>=1")) == []
    assert hazards(program(f"{turn}\ntile_fence tiles=0x1 reset=ring_producer_a\n{gather}")) == []


ROWS = (
    "make: tensorop tiles=1 operation=maximum nest=[y:4,x:2,lane:4] input=@0x0+y*8+x*4 output=@0x40+y*8+x*4 produce=x"
)


@pytest.mark.parametrize(("expected", "faults"), [(1, 0), (0, 1)])
def test_rows_may_leave_one_by_one_as_they_are_made(expected: int, faults: int) -> None:
    send = f"send: mesh_out tiles=1 side=south read=[y:4,w:2 @0x40+y*8+w*4] wait=avdata@y>={expected}+1"
    assert len(hazards(program(f"{ROWS}\n{send}"))) == faults


@pytest.mark.parametrize(("count", "faults"), [(2, 0), (1, 1)])
def test_the_first_rows_may_leave_when_they_are_made(count: int, faults: int) -> None:
    send = f"send: mesh_out tiles=1 side=south read=[y:2,w:2 @0x40+y*8+w*4] wait=avdata>={count}"
    assert len(hazards(program(f"{ROWS}\n{send}"))) == faults


@pytest.mark.parametrize(("expected", "faults"), [(-2, 0), (-3, 1)])
def test_the_last_row_may_wait_for_what_only_it_reads(expected: int, faults: int) -> None:
    fill = "fill: mesh_in tiles=1 side=north write=[w:2 @0x18+w*4] fill=0 produce=w"
    assert len(hazards(program(f"{fill}\n{ROWS} wait=mesh_north_in@y>={expected}+1"))) == faults


def test_what_a_loop_waits_for_is_over_when_the_instruction_is() -> None:
    fill = "fill: mesh_in tiles=1 side=north write=[w:2 @0x18+w*4] fill=0 produce=w"
    after = "pack: narrow_to_wide tiles=1 read=[w:4 @0x10+w*4] write=[r:1 @0x0] wait=avdata>=4"
    assert hazards(program(f"{fill}\n{ROWS} wait=mesh_north_in@y>=-2+1\n{after}")) == []


def test_instructions_that_wait_for_each_other_row_by_row_start_all_the_same() -> None:
    """If they were taken to never start, nothing behind them would be looked at."""
    make = ROWS + " wait=narrow_to_wide@y>=0+1"
    takes = [
        f"take{k}: narrow_to_wide tiles=1 read=[w:4 @0x80+w*4] write=[r:1 @{16 * k:#x}] wait=avdata>={k + 1} produce=r"
        for k in range(4)
    ]
    late = "late: wide_to_narrow tiles=1 read=[r:1 @0x100] write=[w:4 @0x80+w*4] wait=narrow_to_wide>=2"
    sentences = hazards(program("\n".join([make, *takes, late])))
    assert [sentence for sentence in sentences if "late (wide_to_narrow)" in sentence and "take3" in sentence]


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        (f"{RECEIVE}\nquiet: ring_consume tiles=1 write=[r:1 @0x40]", "which in may still raise"),
        (f"{MOVE} wait=ring_read_a>=2", "for which move may still wait"),
    ],
)
def test_a_fence_must_not_reset_a_flag_that_is_still_in_use(before: str, sentence: str) -> None:
    [fault] = hazards(program(f"{before}\nf: tile_fence tiles=1 idle=tensor reset=ring_read_a"))
    assert sentence in fault


SCATTER = "scatter: wide_to_narrow tiles=1 read=[r:4,b:1 @0x0+r*16] write=[y:4,w:4 @0x0+y*16+w*4] produce=b"


@pytest.mark.parametrize(("wait", "faults"), [("1+1", 0), ("0+1", 1), ("1+0", 1), ("4+0", 0)])
def test_a_tensorop_starts_with_the_first_row_from_wide_memory(wait: str, faults: int) -> None:
    """Whose loops are not those that the transfer counts."""
    work = "nest=[y:4,x:4,lane:4] input=@0x0+y*16+x*4 output=@0x40+y*16+x*4"
    line = f"work: tensorop tiles=1 operation=maximum {work} wait=wide_to_narrow@y>={wait}"
    assert len(hazards(program(f"{SCATTER}\n{line}"))) == faults


@pytest.mark.parametrize(("wait", "faults"), [("3+1", 0), ("2+1", 1), ("3+0", 1)])
def test_a_window_of_rows_waits_for_the_last_of_them(wait: str, faults: int) -> None:
    work = "nest=[y:2,x:4,k:3,lane:4] reduce=k input=@0x0+y*16+x*4+k*16 output=@0x40+y*16+x*4"
    line = f"work: tensorop tiles=1 operation=maximum {work} wait=wide_to_narrow@y>={wait}"
    assert len(hazards(program(f"{SCATTER}\n{line}"))) == faults


@pytest.mark.parametrize(("wait", "faults"), [("4+4", 0), ("1+4", 1)])
def test_rows_are_gathered_from_what_another_traversal_wrote(wait: str, faults: int) -> None:
    """Words come in one loop, rows are counted in two, and the last group has a short loop."""
    fill = "fill: mesh_in tiles=1 side=north write=[w:12,b:1 @0x0+w*4] fill=0 produce=b"
    read = "read=[y:3,w:5 alternate y:2 @0x0+y*20+w*4]"
    gather = f"gather: narrow_to_wide tiles=1 {read} write=[p:1,r:3,b:1 @0x0+r*16] wait=mesh_north_in@r>={wait}"
    assert len(hazards(program(f"{fill}\n{gather}"))) == faults


SLOTS = (
    "fill: wide_to_narrow tiles=1 read=[o:3,i:2,b:1 @0x0+o*32+i*16] write=[o:3,i:2,w:4 @0x0+i*16+w*4] wait={} produce=b"
    "\ntake: tensorop tiles=1 operation=maximum nest=[o:3,i:2,x:4,lane:4] input=@0x0+i*16+x*4 "
    "output=@0x40+o*32+i*16+x*4 {}"
)


@pytest.mark.parametrize(("free", "full", "faults"), [("-1", "1", 0), ("0", "1", 0), ("-2", "1", 1), ("-1", "0", 1)])
def test_a_slot_is_filled_again_when_it_has_been_emptied(free: str, full: str, faults: int) -> None:
    """Now a row of the one is over when the other's begins, and now the other way round."""
    lines = SLOTS.format(f"avdata@i>={free}+1", f"wait=wide_to_narrow@i>={full}+1 produce=x")
    assert len(hazards(program(lines))) == faults


@pytest.mark.parametrize(("expected", "faults"), [(1, 0), (0, 2)])
def test_rows_follow_rows_through_a_third_instruction(expected: int, faults: int) -> None:
    """What is gathered overwrites the rows that were scattered: the tensorop in between has waited for them."""
    work = "nest=[y:4,x:4,lane:4] input=@0x0+y*16+x*4 output=@0x40+y*16+x*4"
    line = f"work: tensorop tiles=1 operation=maximum {work} wait=wide_to_narrow@y>={expected}+1 produce=x"
    gather = "back: narrow_to_wide tiles=1 read=[w:16 @0x40+w*4] write=[r:4,b:1 @0x0+r*16] wait=avdata@r>=1+1"
    assert len(hazards(program(f"{SCATTER}\n{line}\n{gather}"))) == faults


def test_a_wait_never_asks_for_more_than_a_shortened_loop_does() -> None:
    """Three rows wait for three words, so nothing says that the fourth has come."""
    fills = [f"f{k}: mesh_in tiles=1 side=north write=[w:1 @{4 * k:#x}] fill=0 produce=w" for k in range(4)]
    send = "send: mesh_out tiles=1 side=south read=[y:2,w:2 alternate y:1 @0x80+y*8+w*4] wait=mesh_north_in@w>=1+1"
    late = "late: mesh_out tiles=1 side=south read=[w:1 @0xc]"
    assert len(hazards(program("\n".join([*fills, send, late])))) == 1


@pytest.mark.parametrize(("expected", "faults"), [(1, 0), (0, 1)])
def test_endless_rounds_are_looked_at_all_the_same(expected: int, faults: int) -> None:
    chip = {"narrow_memory__size_bytes": "64 KiB"}
    fill = "a: mesh_in tiles=1 side=north write=[y:9000,b:1 @0x0+y*4] fill=0 produce=b"
    send = f"b: mesh_out tiles=1 side=south read=[y:9000 @0x0+y*4] wait=mesh_north_in@y>={expected}+1"
    assert len(hazards(program(f"{fill}\n{send}", **chip))) == faults


MAKE = "make: tensorop tiles=1 operation=maximum nest=[y:2,lane:4] input=@0x0+y*4 output=@{0}+y*4 produce=y"
SEND_SOUTH = "send: mesh_out tiles=1 side=south read=[w:2 @{0}+w*4] wait=avdata>={1} produce=w"
LATER = "later: tensorop tiles=1 operation=maximum nest=[y:2,lane:4] input=@0x40+y*4 output=@0x80+y*4 produce=y"


def test_a_wait_for_an_instruction_before_is_none_of_our_business() -> None:
    assert hazards(program("\n".join([MAKE.format("0x100"), LATER, SEND_SOUTH.format("0x100", 2)]))) == []


def test_a_wait_for_a_later_instruction_that_makes_what_is_sent_is_fine() -> None:
    assert hazards(program("\n".join([SEND_SOUTH.format("0x80", 1), LATER]))) == []


def test_a_wait_for_a_later_instruction_that_shares_no_bytes_is_refused() -> None:
    sentences = hazards(program("\n".join([MAKE.format("0x100"), SEND_SOUTH.format("0x100", 2), LATER])))
    end = "which only later (tensorop) does, later in the program and with no bytes in common"
    assert sentences == [f"tile 0: send (mesh_out) waits for avdata to reach 2, {end}"]


def test_a_wait_for_what_comes_behind_the_one_that_clears_the_place_is_fine() -> None:
    """A row may be filled again when what was made of it has been sent."""
    fill = "fill: mesh_in tiles=1 side=north write=[y:2,b:1 @0x40] fill=0 wait=mesh_south_out@y>=0+1 produce=b"
    later = LATER.replace("0x40+y*4", "0x40").replace(" produce", " wait=mesh_north_in@y>=1+1 produce")
    later = later.replace("[y:2,lane:4]", "[y:2,x:1,lane:4]").replace("produce=y", "produce=x")
    send = (
        SEND_SOUTH.format("0x80", 1).replace("avdata>=1 produce=w", "avdata@w>=1+1 produce=b").replace("w:2", "w:2,b:1")
    )
    assert hazards(program(f"{fill}\n{later}\n{send}")) == []
    assert len(hazards(program(f"{fill.replace('0+1', '0+0')}\n{later}\n{send}"))) == 1


def test_a_wait_that_nothing_ends_is_left_to_the_run_to_explain() -> None:
    assert hazards(program("\n".join([MAKE.format("0x100"), SEND_SOUTH.format("0x100", 9)]))) == []

"""The hazards of random programs against the rule in plain sets."""

import re

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.tiled.programs import program
from tests.tiled.rules.plain_order import Pair, plain_hazards
from tilesim.tiled.rules.tile.hazards import hazards

FLAGS = ("avdata", "narrow_to_wide", "wide_to_narrow", "mesh_north_in")
ENGINES = ("tensor", "narrow_to_wide", "wide_to_narrow", "mesh_in_north")
FOUND = re.compile(
    r"tile (\d): nothing orders (\w+) .*, which writes (\w+) bytes between (\w+) and (\w+), and (\w+) .*"
)

words, rows, counts = (
    st.integers(0, 15).map(lambda k: 4 * k),
    st.integers(0, 3).map(lambda k: 16 * k),
    st.integers(1, 3),
)


@st.composite
def waits(draw: st.DrawFn, *loops: str) -> str:
    """Watchers of a few flags, at loops too, if they have names."""
    watchers = []
    for flag in draw(st.lists(st.sampled_from(FLAGS), max_size=2, unique=True)):
        count, loop = draw(st.integers(-1, 5)), draw(st.sampled_from(("", *loops)))
        watchers.append(f"{flag}@{loop}>={count}+{draw(st.integers(0, 2))}" if loop else f"{flag}>={count}")
    return f" wait={','.join(watchers)}" if watchers else ""


@st.composite
def narrow(draw: st.DrawFn, count: int, base: int = 0) -> str:
    """So many words, in loops of their own, of which a last one may be short."""
    at = f"@{base + draw(words):#x}"
    if count % 4 or draw(st.booleans()):
        return f"[w:{count} {at}+w*{draw(st.sampled_from((4, 4, 8, -4)))}]".replace(f"{at}+w*-4", "@0x5c+w*-4")
    inner = draw(st.sampled_from((2, 4)))
    strides = f"+y*{4 * draw(st.integers(1, 5))}+w*4"
    if count == 12 and draw(st.booleans()):
        return f"[y:3,w:5 alternate y:2 {at}{strides}]"
    return f"[y:{count // inner},w:{inner} {at}{strides}]"


@st.composite
def wide(draw: st.DrawFn, count: int) -> str:
    """So many rows."""
    at = f"@{draw(rows):#x}"
    if count == 3 and draw(st.booleans()):
        return f"[b:2,r:2 alternate b:1 {at}+b*16+r*{draw(st.sampled_from((0, 16)))}]"
    return f"[b:1,r:{count} {at}+r*16]"


@st.composite
def lines(draw: st.DrawFn) -> str:
    """An instruction for one of two tiles, or both."""
    tiles, count = draw(st.integers(1, 3)), draw(counts)
    kind = draw(st.sampled_from(("tensor", "narrow_to_wide", "wide_to_narrow", "fill", "fence")))
    if kind == "fence":
        idle = draw(st.lists(st.sampled_from(ENGINES), min_size=1, unique=True))
        reset = draw(st.lists(st.sampled_from(FLAGS), max_size=1))
        return f"tile_fence tiles={tiles} idle={','.join(idle)}" + (f" reset={reset[0]}" if reset else "")
    produce = draw(st.sampled_from(("", *({"tensor": "yxk", "fill": "w"}.get(kind, "br")))))
    raises = f" produce={produce}" if produce else ""
    if kind == "tensor":
        window, lanes = draw(st.integers(1, 3)), draw(st.sampled_from(("", " alternate y:2")))
        move, back = draw(st.sampled_from((4, 8))), draw(st.sampled_from((4, 8, 0, -4)))
        return (
            f"tensorop tiles={tiles} operation=maximum nest=[y:{count},x:2,k:{window},lane:4{lanes}] reduce=k "
            f"input=@{draw(words):#x}+y*{move}+x*{draw(st.sampled_from((0, 4)))}+k*4 "
            f"output=@{draw(words) + 4 * count:#x}+y*{back}+x*4{draw(waits('y', 'x'))}{raises}"
        )
    if kind == "fill":
        return (
            f"mesh_in tiles={tiles} side=north write={draw(narrow(4 * count, 12))} fill=0{draw(waits())}{raises}"
        ).replace(" produce=w", " produce=w")
    both = (draw(narrow(4 * count)), draw(wide(count)))
    read, write = both if kind == "narrow_to_wide" else both[::-1]
    return f"{kind} tiles={tiles} read={read} write={write}{draw(waits('b', 'r'))}{raises}"


def pairs_of(sentences: list[str]) -> set[Pair]:
    parts = [match.groups() for sentence in sentences if (match := FOUND.match(sentence))]
    return {
        (int(tile), frozenset((a, b)), memory, int(low, 16), int(high, 16)) for tile, a, memory, low, high, b in parts
    }


@pytest.mark.parametrize("programs", [150, pytest.param(2000, marks=pytest.mark.soak)])
def test_pairs_are_those_of_the_rule_in_plain_sets(programs: int) -> None:
    @settings(max_examples=programs)
    @given(st.lists(lines(), min_size=2, max_size=12), st.integers(0, 4), st.booleans())
    def judge(ops: list[str], loaded: int, strict: bool) -> None:
        labelled = [f"op{k}: {op}" for k, op in enumerate(ops)]
        load, run = "\n".join(labelled[:loaded]), "\n".join(labelled[loaded:])
        written = program(run, load=load, tile__strict_compare=strict)
        expected = plain_hazards(written)
        event(f"{min(len(expected), 3)} hazards")
        assert pairs_of(hazards(written)) == expected

    judge()

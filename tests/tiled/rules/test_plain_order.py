"""The hazards of random programs against the rule in plain sets."""

import re

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.tiled.programs import program
from tests.tiled.rules.plain_order import Found, plain_hazards
from tilesim.tiled.rules.hazards import hazards

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
produced = st.sampled_from(("", " produce={}", " produce={}"))


@st.composite
def waits(draw: st.DrawFn, loop: str = "") -> str:
    """Watchers of a few flags, at the outermost loop too, if it has a name."""
    found = []
    for flag in draw(st.lists(st.sampled_from(FLAGS), max_size=2, unique=True)):
        count = draw(st.integers(-1, 5))
        inside = loop and draw(st.booleans())
        found.append(f"{flag}@{loop}>={count}+{draw(st.integers(0, 2))}" if inside else f"{flag}>={count}")
    return f" wait={','.join(found)}" if found else ""


@st.composite
def lines(draw: st.DrawFn) -> str:
    """An instruction for one of two tiles, or both."""
    tiles, count, word, row = draw(st.integers(1, 3)), draw(counts), draw(words), draw(rows)
    stride, produce = draw(st.sampled_from((4, 8, -4))), draw(produced)
    kind = draw(st.sampled_from(("tensor", "narrow_to_wide", "wide_to_narrow", "fill", "fence")))
    narrow = f"[w:{4 * count} @{word:#x}+w*4]"
    wide = f"[r:{count} @{row:#x}+r*16]"
    if kind == "fence":
        idle = draw(st.lists(st.sampled_from(ENGINES), min_size=1, unique=True))
        reset = draw(st.lists(st.sampled_from(FLAGS), max_size=1))
        return f"tile_fence tiles={tiles} idle={','.join(idle)}" + (f" reset={reset[0]}" if reset else "")
    if kind == "tensor":
        base = word + 4 * count
        return (
            f"tensorop tiles={tiles} operation=maximum nest=[y:{count},lane:4] input=@{draw(words):#x}+y*4 "
            f"output=@{base:#x}+y*{stride}{draw(waits('y'))}{produce.format('y')}"
        )
    if kind == "fill":
        return (
            f"mesh_in tiles={tiles} side=north write=[w:{count} @{word + 12:#x}+w*{stride}] fill=0"
            f"{draw(waits())}{produce.format('w')}"
        )
    sides = f"read={narrow} write={wide}" if kind == "narrow_to_wide" else f"read={wide} write={narrow}"
    return f"{kind} tiles={tiles} {sides}{draw(waits())}{produce.format('r')}"


def found(sentences: list[str]) -> set[Found]:
    parts = [match.groups() for each in sentences if (match := FOUND.match(each))]
    return {
        (int(tile), frozenset((a, b)), memory, int(low, 16), int(high, 16)) for tile, a, memory, low, high, b in parts
    }


@settings(max_examples=150)
@given(st.lists(lines(), min_size=2, max_size=12), st.integers(0, 4))
def test_pairs_are_those_of_the_rule_in_plain_sets(ops: list[str], loaded: int) -> None:
    labelled = [f"op{k}: {op}" for k, op in enumerate(ops)]
    written = program("\n".join(labelled[loaded:]), load="\n".join(labelled[:loaded]))
    expected = plain_hazards(written)
    event(f"{min(len(expected), 3)} hazards")
    assert found(hazards(written)) == expected

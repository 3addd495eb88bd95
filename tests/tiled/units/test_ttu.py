"""Address streams against plain nested loops, and the adder form against the addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.units.bench import at, chip_of, line, nest
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.loops import addresses, multiplied
from tilesim.tiled.topology import Tile
from tilesim.tiled.units import ttu as ttu_module
from tilesim.tiled.units.ttu import FORMS, TraversalForm, stepped


def increments(nest: Nest, reference: Reference) -> tuple[list[int], int]:
    """The adder form: what is added to the address as each loop (outermost first) steps, and the rewind at the end."""
    strides = dict(reference.strides)
    steps: list[int] = []
    inner = 0
    for loop in reversed(nest.loops):
        stride = strides.get(loop.name, 0)
        steps.append(stride - inner)
        inner += (loop.bound - 1) * stride
    return steps[::-1], -inner


def walk(nest: Nest, reference: Reference) -> Iterator[int]:
    """The adder form at work: one address a cycle from increments alone (nests without an alternate limit)."""
    steps, _ = increments(nest, reference)
    counters = [0] * len(nest.loops)
    address = reference.base
    while True:
        yield address
        for depth in reversed(range(len(counters))):
            counters[depth] += 1
            if counters[depth] < nest.loops[depth].bound:
                address += steps[depth]
                break
            counters[depth] = 0
        else:
            return


@st.composite
def nests(draw: st.DrawFn) -> tuple[Nest, Reference]:
    loops = tuple(Loop(f"l{k}", draw(st.integers(1, 4))) for k in range(draw(st.integers(1, 5))))
    strides = tuple((loop.name, draw(st.integers(-9, 9))) for loop in loops)
    return Nest(loops), Reference(draw(st.integers(0, 99)), strides)


@given(nests())
def test_the_adder_form_walks_the_same_addresses_and_rewinds(case: tuple[Nest, Reference]) -> None:
    over, reference = case
    walked = list(walk(over, reference))
    for form in FORMS.values():
        assert walked == addresses(over, reference, form).tolist()
    assert walked[-1] + increments(over, reference)[1] == reference.base


def test_each_form_makes_addresses_in_its_own_way() -> None:
    """A counter that adds, an index that is multiplied; far apart or backwards, too."""
    assert stepped(4, -3).tolist() == multiplied(4, -3).tolist() == [0, -3, -6, -9]
    assert stepped(1, 1 << 40).tolist() == multiplied(1, 1 << 40).tolist() == [0]
    assert set(FORMS) == set(get_args(Tile.model_fields["traversal"].annotation))


@pytest.mark.parametrize("form", FORMS)
def test_oracle_1_two_loops(form: str) -> None:
    over, reference = nest(outer=3, inner=3), at(7, outer=6, inner=1)
    assert addresses(over, reference, FORMS[form]).tolist() == [7, 8, 9, 13, 14, 15, 19, 20, 21]
    assert list(walk(over, reference)) == [7, 8, 9, 13, 14, 15, 19, 20, 21]


def test_oracle_2_the_same_as_increments() -> None:
    steps, _ = increments(nest(outer=3, inner=3), at(7, outer=6, inner=1))
    assert steps == [4, 1]


def test_oracle_3_three_loops_as_increments_and_rewind() -> None:
    """Strides 16, 1, 64 from the innermost loop out, with counts 4, 16, 4."""
    over, reference = nest(c=4, b=16, a=4), at(0, a=16, b=1, c=64)
    steps, rewind = increments(over, reference)
    streams = [addresses(over, reference, form).tolist() for form in FORMS.values()]
    assert streams == [list(walk(over, reference))] * 2
    assert steps[::-1] == [16, -47, 1]
    assert rewind == -255


@pytest.mark.parametrize("form", FORMS)
def test_oracle_4_the_alternate_limit(form: str) -> None:
    """200 outputs, 64 at a time: 64, 64, 64, 8."""
    over = nest(Alternate("block", 8), block=4, lane=64)
    assert addresses(over, at(0, block=64, lane=1), FORMS[form]).tolist() == list(range(200))


def test_places_of_rows_may_be_taken_word_by_word() -> None:
    places = TraversalForm(chip_of().tile).places(line(0x100, 2, 0x200), 16, 4)
    assert (len(places), places.width_bytes, places.lowest, places.end) == (8, 4, 0x100, 0x310)
    assert isinstance(places.where, np.ndarray)
    assert (places.where * places.unit_bytes).tolist() == [*range(0x100, 0x110, 4), *range(0x300, 0x310, 4)]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ttu_module, "INSTRUCTIONS", 3)
    ttu = TraversalForm(chip_of().tile)
    for base in range(10):
        traversal = line(4 * base, 3, 4)
        assert ttu.places(traversal, 4).lowest == 4 * base
        assert ttu.places(traversal, 4) is ttu.places(traversal, 4)
        assert len(ttu._places) <= 3

"""Arithmetic on nests agrees with walking through them."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference
from tilesim.tiled.isa.model.nests import blocks, iterations, span, straddles

NAMES = ("a", "b", "c")


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    loops = tuple(Loop(name, draw(st.integers(1, 4))) for name in NAMES)
    outer = draw(st.sampled_from(("", "a", "b")))
    return Nest(loops, Alternate(outer, draw(st.integers(1, loops[-1].bound))) if outer else None)


references = st.builds(
    lambda base, strides: Reference(base, tuple(zip(NAMES, strides, strict=True))),
    st.integers(0, 40),
    st.tuples(*[st.integers(-20, 20)] * 3),
)


def walked(nest: Nest, reference: Reference) -> list[int]:
    strides = dict(reference.strides)
    found = []
    for counters in product(*(range(loop.bound) for loop in nest.loops)):
        at = dict(zip(NAMES, counters, strict=True))
        alternate = nest.alternate
        last = alternate and at[alternate.loop] == dict(zip(NAMES, nest.loops, strict=True))[alternate.loop].bound - 1
        if not (alternate and last and at["c"] >= alternate.limit):
            found.append(reference.base + sum(at[name] * strides[name] for name in NAMES))
    return found


@given(nests(), references)
def test_spans_and_counts(nest: Nest, reference: Reference) -> None:
    addresses = walked(nest, reference)
    spans = [span(block, reference, frozenset(NAMES)) for block in blocks(nest)]
    assert (min(low for low, _ in spans), max(high for _, high in spans)) == (min(addresses), max(addresses))
    assert iterations(nest) == len(addresses)


@given(nests(), references, st.integers(1, 16))
def test_straddling(nest: Nest, reference: Reference, size_bytes: int) -> None:
    crossing = any(address % 16 + size_bytes > 16 for address in walked(nest, reference))
    assert straddles(nest, reference, frozenset(NAMES), lambda _: size_bytes, 16) == crossing


def test_bounds_may_be_huge() -> None:
    nest = Nest((Loop("a", 10**30), Loop("lane", 4)))
    assert straddles(nest, Reference(0, (("a", 3),)), frozenset("a"), lambda _: 4, 256)
    assert not straddles(nest, Reference(0, (("a", 4),)), frozenset("a"), lambda _: 4, 256)

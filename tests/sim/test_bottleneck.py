"""Cycles by cause, and which cause binds."""

from collections import Counter

from tilesim.sim.bottleneck import Bottleneck, whole


def test_the_largest_cause_binds_and_of_equal_ones_the_first_by_name() -> None:
    total = whole([Bottleneck(Counter(ring=2, macs=1)), Bottleneck(Counter(macs=1, mesh=0))])
    assert list(total.breakdown.items()) == [("macs", 2), ("ring", 2)]
    assert (total.bound_by(), total.bound_by(ignoring="macs"), Bottleneck().bound_by()) == ("macs", "ring", None)


def test_cycles_are_added_with_the_first_of_them() -> None:
    layer = Bottleneck()
    for start, end in ((9, 9), (7, 9), (2, 3)):
        layer.add(start, end, "input stall")
    assert (layer.start, layer.breakdown) == (2, {"input stall": 3})

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.report.traced import small
from tilesim.report import slices
from tilesim.report.slices import LONGEST, Slice, Slices, shown, slice_name


def test_releases_connect_slices() -> None:
    _, trace = small()
    found = Slices(trace)
    assert list(found.of(0)) == [Slice(9, 4, 0, 1, 64, [3], 0)]
    assert list(found.of(1)) == [Slice(12, 5, 0, 1, 0, [4], 0)]
    assert [each.release for each in found.of(2)] == [3, 4, 0]


@pytest.mark.parametrize("together", [1, 2, 3])
def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch, together: int) -> None:
    _, trace = small()
    several = replace(trace, released_by=np.array([-1, -1, 0, 0, 2], np.int32))
    whole = [list(Slices(several).of(k)) for k in range(3)]
    monkeypatch.setattr(slices, "TOGETHER", together)
    assert [list(Slices(several).of(k)) for k in range(3)] == whole
    assert [each.releases for track in whole for each in track] == [[3, 4], [], [5], [], []]


def test_names() -> None:
    assert slice_name("send", "busy") == "send"
    assert slice_name("send", "stall:port") == "send (stall:port)"
    assert slice_name("", "stall:work") == "stall:work"
    assert shown("a\nb\x1b\u202e\udc80") == "a\\nb\\x1b\\u202e\\udc80"
    assert len(shown(9 * LONGEST * "x")) == LONGEST

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.report.batching import Member, folded, spelt


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([], ""),
        ([7], "7"),
        ([1, 1, 2, 1, 1, 2, 3], "2 x (2 x 1, 2), 3"),
        ([1, 2, 3, 1, 2, 3, 1, 2], "2 x (1, 2, 3), 1, 2"),
        ([0, 0, 0, 1, 1], "3 x 0, 2 x 1"),
        ([1, 2, 1], "1, 2, 1"),
    ],
)
def test_what_repeats_itself_is_written_once(members: list[int], words: str) -> None:
    assert spelt(folded(members)) == words


def unfolded(members: Sequence[Member]) -> list[int]:
    found: list[int] = []
    for member in members:
        found += [member] if isinstance(member, int) else unfolded(member.members) * member.times
    return found


@given(st.lists(st.integers(0, 3), max_size=60))
def test_nothing_is_lost(members: list[int]) -> None:
    assert unfolded(folded(members)) == members

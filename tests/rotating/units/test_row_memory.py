"""A RAM keeps rows of each sample apart, and knows who keeps whom from its ports."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.rotating.units.row_memory import RowMemory

USES = st.lists(st.tuples(st.sampled_from(["read", "write"]), st.integers(0, 12)), max_size=12)


def memory(ports: Any = "single", samples: int = 1) -> RowMemory:
    return RowMemory("nnu.data_ram", 4, 3, ports, samples)


def test_rows_are_zero_at_first() -> None:
    assert memory(samples=2).rows.tolist() == np.zeros((2, 4, 3)).tolist()


def test_a_row_is_a_view_of_all_samples() -> None:
    ram = memory(samples=2)
    ram.row(1)[...] = [[1, 2, 3], [4, 5, 6]]
    assert ram.rows[:, 1].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert not ram.rows[:, [0, 2, 3]].any()


@pytest.mark.parametrize(("ports", "shared"), [("single", False), ("dual", True)])
def test_a_read_and_a_write_share_a_cycle_only_with_two_ports(ports: str, shared: bool) -> None:
    ram = memory(ports)
    ram.use_for_reading(5)
    ram.use_for_writing(7)
    assert (ram.may_read(5), ram.may_write(5)) == (False, shared)
    assert (ram.may_read(7), ram.may_write(7)) == (shared, False)
    assert all(ram.may_read(cycle) and ram.may_write(cycle) for cycle in (4, 6, 8))


@given(USES, st.sampled_from(["single", "dual"]), st.integers(0, 12), st.integers(0, 13))
def test_whoever_comes_later_is_kept_out_of_all_cycles_in_use(
    uses: list[tuple[str, int]], ports: Literal["single", "dual"], begin: int, end: int
) -> None:
    """In whatever order they are said: DMA in says its writes ahead."""
    ram = memory(ports)
    for kind, cycle in uses:
        (ram.use_for_reading if kind == "read" else ram.use_for_writing)(cycle)
    reads = {cycle for kind, cycle in uses if ports == "single" or kind == "read"}
    writes = {cycle for kind, cycle in uses if ports == "single" or kind == "write"}
    assert set(ram.kept_from_reading(begin, end)) == {cycle for cycle in reads if begin <= cycle < end}
    for cycle in range(14):
        assert ram.may_read(cycle) == (cycle not in reads)
        assert ram.may_write(cycle) == (cycle not in writes)

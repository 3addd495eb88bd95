"""Where parts stand in the weight RAM: no two at once in one place, and each where it is streamed to in its turn."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.errors import CapacityError
from tilesim.rotating.compiler.streaming import Need, end, reside


def needs(*rows: int) -> list[Need]:
    return [Need(own, 10 * own) for own in rows]


def test_all_stay_where_all_fit() -> None:
    assert reside(needs(3, 4, 5), 12, 1, "net").rows == (0, 3, 7)


@pytest.mark.parametrize("seed", range(30))
def test_nobody_stands_in_the_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = needs(*rng.integers(1, 40, 12).tolist())
    capacity = int(rng.integers(80, 200))
    way = reside(parts, capacity, 8, "net")
    stay = [part for part in range(12) if part not in way.streamed]
    taken = np.zeros(capacity, int)
    for part in stay:
        taken[way.rows[part] : way.rows[part] + parts[part].rows] += 1
    assert taken.max(initial=0) <= 1
    for number, part in enumerate(way.streamed):
        own = slice(way.rows[part], way.rows[part] + parts[part].rows)
        assert own.stop <= capacity
        assert not taken[own].any()
        beside = way.streamed[number + 1 : number + way.turns]
        assert all(way.rows[other] != way.rows[part] for other in beside)
    assert end(parts, way, 8) >= sum(part.clocks for part in parts)


def test_two_stretches_if_there_is_room_else_one() -> None:
    assert reside(needs(10, 10, 10), 20, 1, "net").turns == 2
    assert reside(needs(10, 10, 10), 19, 1, "net").turns == 1
    with pytest.raises(CapacityError, match=r"net must have passes .* of 9 rows, and one has 10"):
        reside(needs(10, 10, 10), 9, 1, "net")

"""Which nodes a transfer occupies."""

import pytest

from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.rules.untimed.transfers import Transfer, node_names

TILES = 8


def transfer(master: int, to: int, rows: int = 2) -> Transfer:
    op = Infeed(source="data", rows=rows, to=to)
    return Transfer(0, op, "t", 0, 0, master, to, rows, TILES + 3)


def tiles(*numbers: int) -> int:
    return sum(1 << number for number in numbers)


@pytest.mark.parametrize(
    ("master", "to", "path"),
    [
        (1, tiles(2), [1, 2, 3]),
        (0, tiles(0, 3), [0, 1, 2, 3, 4]),
        (7, tiles(1), [7, 8, 9, 10, 0, 1, 2]),
        (3, tiles(1, 4), [3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2]),
        (9, 1 << TILES + 1, [9, 10]),
    ],
)
def test_it_occupies_every_node_from_its_master_to_its_last_destination(master: int, to: int, path: list[int]) -> None:
    made = transfer(master, to)
    assert list(made.path) == path
    assert made.reach == len(path) - 1
    assert [node for node in range(made.nodes) if made.passes(node)] == sorted(path)
    assert made.occupied == sum(1 << node for node in path)


def test_destinations_come_in_the_order_of_the_ring() -> None:
    assert transfer(4, tiles(0, 2, 5)).destinations == (6, 1, 3)


@pytest.mark.parametrize(
    ("a", "b", "disjoint"),
    [
        ((0, (2,)), (1, (3,)), False),
        ((0, (3,)), (3, (4,)), False),
        ((6, (1,)), (2, (5,)), True),
        ((6, (1,)), (0, (3,)), False),
        ((0, (1, 2, 3)), (4, (5, 6, 7)), True),
    ],
)
def test_two_groups_may_run_at_once_exactly_if_no_node_sees_both(
    a: tuple[int, tuple[int, ...]], b: tuple[int, tuple[int, ...]], disjoint: bool
) -> None:
    """Oracles 10 and 11, of tiles as masters."""
    first, other = (transfer(master + 1, tiles(*to)) for master, to in (a, b))
    assert (first.occupied & other.occupied == 0) is disjoint


def test_nodes_are_named_in_runs() -> None:
    assert node_names(transfer(7, tiles(1)).path, TILES) == "tiles 6-7, classifier, sink, source, tiles 0-1"
    assert node_names([3], TILES) == "tile 2"
    assert node_names([3, 5], TILES) == "tile 2, tile 4"

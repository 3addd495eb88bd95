"""What follows from the order of some transfers at some stops."""

from tests.tiled.rules.untimed.test_transfers import tiles, transfer
from tilesim.tiled.rules.untimed.transfer_order import TransferOrder

NODES = 11


def test_one_master_sends_one_after_the_other() -> None:
    first, other = transfer(1, tiles(3)), transfer(1, tiles(2, 4))
    known = TransferOrder([first, other], NODES)
    assert all(known.holds(first, other, node) for node in (1, 2, 3, 4))
    assert list(known.open()) == []


def test_masters_that_share_a_stretch_need_an_order_at_its_first_stop() -> None:
    first, other = transfer(1, tiles(3)), transfer(3, tiles(5))
    known = TransferOrder([first, other], NODES)
    assert list(known.open()) == [(first, other, 3)]
    known.add(first, other, 3)
    known.close()
    assert list(known.open()) == []
    assert known.holds(first, other, 4)
    assert list(known.after(first, 4)) == [other]


def test_a_chain_holds_only_where_all_of_it_passes() -> None:
    """The second ends at tile 3, ahead of the third's stop, so that it tells nothing of the first there."""
    first, second, third = transfer(1, tiles(6)), transfer(2, tiles(3)), transfer(6, tiles(7))
    known = TransferOrder([first, second, third], NODES)
    known.add(first, second, 2)
    known.close()
    assert list(known.open()) == [(first, third, 6)]


def test_a_chain_at_one_stop() -> None:
    made = [transfer(1, tiles(6)), transfer(2, tiles(6)), transfer(3, tiles(7))]
    known = TransferOrder(made, NODES)
    known.add(made[0], made[1], 2)
    known.add(made[1], made[2], 3)
    known.close()
    assert list(known.open()) == []
    assert known.holds(made[0], made[2], 7)


def test_two_that_wrap_around_each_other_share_two_stretches() -> None:
    first, other = transfer(1, tiles(6)), transfer(6, tiles(1))
    assert [node for *_, node in TransferOrder([first, other], NODES).open()] == [1, 6]

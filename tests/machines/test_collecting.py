"""Work without the garbage collector, which is as it was behind it."""

import gc

import pytest

from tilesim.machines.collecting import without_collector


def test_it_is_off_meanwhile_and_on_again() -> None:
    assert gc.isenabled()
    with without_collector():
        assert not gc.isenabled()
        with without_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_leaves_it_on() -> None:
    with pytest.raises(ValueError, match="no"), without_collector():
        raise ValueError("no")
    assert gc.isenabled()

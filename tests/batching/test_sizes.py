from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batching.graphs import REUSES, chain
from tilesim.batching import batch_size, layer_batches, weight_reuse_value
from tilesim.config import load
from tilesim.shipped import shipped
from tilesim.systolic.topology import Topology


@pytest.mark.parametrize(("reuse", "batch"), [(28900, 1), (784, 2), (196, 8), (49, 31)])
def test_batches_of_the_published_example(reuse: int, batch: int) -> None:
    assert batch_size(1500, reuse) == batch


def test_rounded_up_to_powers_of_two_they_have_a_small_common_multiple() -> None:
    batches = [each.batch for each in layer_batches(chain(REUSES).layers, 1500, power_of_two=True)]
    assert batches == [1, 2, 8, 8, 8, 32]
    assert lcm(*batches) == 32


def test_a_layer_is_named_beside_its_batch() -> None:
    [first, *_] = layer_batches(chain(REUSES).layers, 1500)
    assert (first.name, first.reuse, first.batch) == ("layer0", 28900, 1)


@given(value=st.fractions(Fraction(1, 100), 10_000), reuse=st.integers(1, 100_000))
def test_a_batch_is_the_smallest_that_uses_weights_often_enough(value: Fraction, reuse: int) -> None:
    batch, rounded = batch_size(value, reuse), batch_size(value, reuse, power_of_two=True)
    assert (batch - 1) * reuse < value <= batch * reuse
    assert rounded & (rounded - 1) == 0
    assert batch <= rounded < 2 * batch


def test_the_first_tpu_must_use_a_weight_1349_times() -> None:
    assert weight_reuse_value(256 * 256, 700_000_000, 2_125_000_000, 2, 8) == Fraction(65536 * 7, 340)


def test_half_a_transfer_takes_a_whole_one() -> None:
    assert weight_reuse_value(17, 100, 50, 1, 16) == 4


@pytest.mark.parametrize("name", ["tpu-v1", "systolic-128", "systolic-32", "systolic-4"])
def test_it_is_what_a_tile_takes_on_a_chip(name: str) -> None:
    chip = load(shipped("topologies") / f"{name}.yaml", Topology)
    memory = chip.weight_memory
    found = weight_reuse_value(
        chip.weight_tile_bytes, chip.clock_hz, memory.clock_hz, memory.channels, memory.channel_bytes
    )
    assert found == chip.weight_tile_cycles

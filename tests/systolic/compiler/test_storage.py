"""Entries of the accumulators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.systolic.compiled import chip
from tilesim.systolic.compiler.storage import AccumulatorRing, chunk


def test_entries_are_taken_round_and_round() -> None:
    accumulators = AccumulatorRing(100)
    assert [accumulators.take(vectors) for vectors in (40, 40, 40, 60, 1)] == [0, 40, 0, 40, 0]


@pytest.mark.parametrize(
    ("vectors", "portions", "size"),
    [
        (2048, 9, 2048),
        (2049, 1, 1025),
        (4096, 9, 2048),
        (4097, 9, 1366),
        (200, 64, 200),
    ],
)
def test_two_chunks_fit_the_accumulators(vectors: int, portions: int, size: int) -> None:
    """4096 entries: 2048 vectors, so that as many can leave. Source: Jouppi et al., ISCA 2017, section 2."""
    assert chunk(vectors, portions, 1, chip("tpu-v1")) == size


def test_what_would_wait_for_its_tiles_in_halves_takes_all_entries() -> None:
    """Of 300 vectors one half lasts 150 cycles, a tile 1349; and without portions to fetch again, halves are free."""
    topology = chip("tpu-v1", {"accumulators.entries": 400})
    assert chunk(300, 2, 1, topology) == 300
    assert chunk(300, 1, 1, topology) == 150
    assert chunk(401, 2, 1, topology) == 134


@given(st.integers(1, 5000), st.integers(1, 9), st.integers(1, 64), st.integers(128, 5000))
def test_chunks_are_whole_images_of_about_one_size(images: int, portions: int, each: int, entries: int) -> None:
    topology = chip("systolic-32", {"accumulators.entries": entries})
    size = chunk(images * each, portions, each, topology)
    assert size % each == 0
    assert size <= entries
    number = -(-images * each // size)
    assert number * size - images * each < number * each, "the last one is hardly smaller than the others"

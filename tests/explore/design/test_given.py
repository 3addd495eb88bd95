"""Chips and networks of a script in the words of a command line: the words give the same again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.machines.null import Null
from tilesim.errors import InputError
from tilesim.explore.design.given import chip_words, network_words


def is_not_shipped(name: str) -> bool:
    return name not in tilesim.list_topologies()


@given(
    st.sampled_from(["edge-4x4", "pocket-2x1", "systolic-4", "tpu-v1"]),
    st.dictionaries(st.sampled_from(["clock_hz", "host.latency_cycles"]), st.integers(1, 1000)),
    st.none() | st.text(max_size=20).filter(is_not_shipped),
)
def test_the_words_of_a_chip_give_the_chip(name: str, changes: dict[str, object], called: str | None) -> None:
    chip = tilesim.load_topology(name, changes)
    chip = chip if called is None else chip.model_copy(update={"name": called})
    word, settings = chip_words(chip)
    assert word == (name if called is None else {"tiled": "edge-4x4", "systolic": "tpu-v1"}[chip.machine])
    again = tilesim.load_topology(word, settings)
    assert again.model_dump(exclude={"description"}) == chip.model_dump(exclude={"description"})


def test_a_chip_of_which_none_is_shipped_must_be_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tilesim.MACHINES, "null", "tests.machines.null:Null")
    with pytest.raises(InputError) as caught:
        chip_words(Null.schema(machine="null", name="mine", clock_hz=1))
    assert str(caught.value) == "mine: must be given as a file, as no null chip comes with tilesim"


def test_a_file_or_a_name_stays_what_it_is() -> None:
    assert chip_words("edge-2x2") == ("edge-2x2", {})
    word, network = network_words("pocket")
    assert (word, network.name) == ("pocket", "pocket")
    assert network_words(network) == ("pocket", network)

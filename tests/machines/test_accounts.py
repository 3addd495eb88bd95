"""What units count by instruction is known by layer, whoever carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.machines.accounts import Accounts, Acted, Bus, accounts_of
from tilesim.machines.program import Program
from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import Unit

LAYERS = 3
LABELS = ["first", "second", "again", "third", "none", "of nobody"]
OF = {"first": 0, "second": 1, "again": 1, "third": 2, "none": -1}
BYTES = st.dictionaries(st.sampled_from(LABELS), st.integers(1, 99))
HOPS = Action.RING_HOP


@dataclass(frozen=True)
class Op:
    label: str
    layer: int


@dataclass(frozen=True)
class Of:
    """A program as far as accounts look at it."""

    run: tuple[Op, ...] = tuple(Op(*each) for each in OF.items())
    layers: tuple[None, ...] = (None,) * LAYERS


def unit(track: str, moved: dict[str, int], acted: dict[Action, dict[str, int]]) -> Unit:
    made = Unit(Clock(), track)
    made.cycles, made.moved, made.acted = {"busy": 7}, moved, acted
    return made


def for_layers(counts: dict[str, int]) -> list[int]:
    return [sum(n for label, n in counts.items() if OF.get(label, -1) == k) for k in (0, 1, 2, -1)]


@given(BYTES, BYTES, BYTES)
def test_bytes_in_are_bytes_out_by_layer_and_in_all(a: dict[str, int], b: dict[str, int], acts: dict[str, int]) -> None:
    acted = {Action.WIDE_READ: acts} if acts else {}
    found = accounts_of(cast(Program, Of()), [unit("a", a, {}), unit("b", b, acted), unit("idle", {}, {})])
    assert found.cycles == {track: {"busy": 7} for track in ("a", "b", "idle")}
    assert found.bytes_of(["b", "idle", "a"]).tolist() == [for_layers(b), [0] * 4, for_layers(a)]
    buses = {"bus": Bus(["a"], ["a", "b"]), "none": Bus([], [])}
    assert found.total(buses) == {
        "bus": {"entered": sum(a.values()), "carried": sum(a.values()) + sum(b.values())},
        "none": {"entered": 0, "carried": 0},
    }
    by_layer = [layer["bus"] for layer in found.by_layer(buses)]
    assert [layer["entered"] for layer in by_layer] == for_layers(a)[:LAYERS]
    assert [each.counts.tolist() for each in found.acted] == ([[for_layers(acts)]] if acts else [])


def test_energy_is_for_what_units_did_and_for_what_carried_bytes() -> None:
    did: Any = [
        Acted(["a"], Action.WIDE_READ, np.array([[2, 0, 1]])),
        Acted(["a"], Action.ADD_8, np.array([[5, 0, 0]])),
    ]
    found = Accounts.of({"still": {}}, {"link": np.array([64, 0, 33])}, did, 2)
    tallies = [*found.tallies({HOPS: ["link", "still"]}, {Action.WIDE_READ: 16, HOPS: 32})]
    assert [(each.tracks, each.action) for each in tallies] == [
        (["a"], Action.WIDE_READ), (["a"], Action.ADD_8), (["link", "still"], HOPS),
    ]  # fmt: skip
    assert [each.counts.tolist() for each in tallies] == [[[2, 0, 1]], [[5, 0, 0]], [[2, 0, 1], [0, 0, 0]]]
    assert [each.sizes_bytes.tolist() for each in tallies] == [[[32, 0, 16]], [[0, 0, 0]], [[64, 0, 33], [0, 0, 0]]]


def test_a_unit_that_there_is_not_is_nobody_s() -> None:
    with pytest.raises(KeyError, match="lost"):
        Accounts.of({"still": {}}, {}, [], 1).bytes_of(["still", "lost"])


def test_without_layers_there_are_bytes_all_the_same() -> None:
    found = Accounts.of({}, {"link": np.array([5])}, [], 0)
    assert found.by_layer({"bus": Bus(["link"], ["link"])}) == []
    assert found.total({"bus": Bus(["link"], ["link"])}) == {"bus": {"entered": 5, "carried": 5}}

"""The table of energies, and what it makes of counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilesim.energy import (
    NOT_GIVEN,
    SHIPPED,
    Tally,
    default_table,
    document,
    entries_model,
    load_table,
    priced,
    unit_of,
)
from tilesim.errors import ConfigError
from tilesim.sim.core.action import Action


def test_the_table_that_is_shipped_is_read_like_any_other() -> None:
    assert load_table(SHIPPED) == default_table()


def test_every_action_has_an_entry_with_its_unit_and_a_source() -> None:
    table = default_table()
    assert set(table) == set(Action) == {Action(name) for name in entries_model().model_fields}
    for action, entry in table.items():
        assert entry.per == unit_of(action)
        assert entry.pj > 0
        assert NOT_GIVEN not in (entry.source, entry.technology)


def test_the_table_is_that_of_its_sources() -> None:
    """Horowitz's numbers are for 32 bits where they are of memories."""
    pj = {action: entry.pj for action, entry in default_table().items()}
    assert pj[Action.MAC_8X8] == pytest.approx(0.2 + 0.1)
    assert pj[Action.WIDE_READ] == pj[Action.NARROW_READ] == 5 / 4
    assert pj[Action.DATA_MEMORY_READ] == 640 / 4
    assert pj[Action.RING_HOP] == pytest.approx(2 * pj[Action.MAC_8X8])


def tally(tracks: list[str], action: Action, counts: list[list[int]], width_bytes: int = 0) -> Tally:
    return Tally(tracks, action, np.array(counts), np.array(counts) * width_bytes)


def test_a_document_is_counts_times_energies() -> None:
    found = document(
        [
            tally(["a", "c"], Action.WIDE_READ, [[2, 1, 0, 0], [0, 0, 0, 0]], 256),
            tally(["b"], Action.ADD_32, [[0, 0, 0, 30]]),
        ],
        layers=3,
    )
    reads, adds = {"count": 3, "bytes": 768, "pj": 960.0}, {"count": 30, "bytes": 0, "pj": 3.0}
    assert found["units"] == [
        {"track": "a", "actions": {"wide_read": reads}, "pj": 960.0},
        {"track": "b", "actions": {"add_32": adds}, "pj": 3.0},
    ]
    assert [layer["total_pj"] for layer in found["layers"]] == [640.0, 320.0, 0.0]
    assert found["outside_layers"] == {"actions": {"add_32": adds}, "total_pj": 3.0}
    assert found["actions"] == {"add_32": adds, "wide_read": reads}
    assert found["total_pj"] == 963.0


def test_who_did_nothing_has_no_row_and_who_is_in_several_tallies_one() -> None:
    twice = [tally(["a", "idle"], Action.ADD_8, [[1, 0, 2], [0, 0, 0]]), tally(["a"], Action.ADD_8, [[0, 0, 4]])]
    found = document([*twice, tally(["idle"], Action.WIDE_READ, [[0, 0, 0]], 256)], layers=2)
    assert [(unit["track"], unit["actions"]["add_8"]["count"]) for unit in found["units"]] == [("a", 7)]
    assert [[*layer["actions"]] for layer in found["layers"]] == [["add_8"], []]
    assert (found["outside_layers"]["actions"]["add_8"]["count"], [*found["actions"]]) == (6, ["add_8"])


def test_entries_of_a_file_replace_ours_and_price_the_same_counts_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("wide_read: {pj: 2, source: measured}\nadd_8: {pj: 0.01, per: addition}\n")
    before = document([tally(["a"], Action.WIDE_READ, [[2, 0]], 256), tally(["a"], Action.ADD_32, [[10, 0]])], layers=1)
    after = priced(before, load_table(path))
    assert after["layers"][0]["actions"]["wide_read"] == {"count": 2, "bytes": 512, "pj": 1024.0}
    assert after["total_pj"] == 1025.0
    assert after["table"]["wide_read"] == {"pj": 2.0, "per": "byte", "technology": NOT_GIVEN, "source": "measured"}
    assert after["table"]["add_32"] == before["table"]["add_32"]
    assert priced(after, default_table()) == before


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "wide_raed: {pj: 3}\nwide_read: {pj: 3, per: word}\nring_hop: {pj: -1}\nadd_8: {source: me}\nmac_8x8: 0.3\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_table(path)
    assert list(caught.value.faults) == [
        f"{path}:1:1: unknown key 'wide_raed'; did you mean 'wide_read'?",
        f"{path}:2:12: wide_read must be per byte, not per 'word'",
        f"{path}:3:16: ring_hop.pj must be at least 0.0, not -1",
        f"{path}:4:8: add_8.pj is missing",
        f"{path}:5:10: mac_8x8 must be a section with keys, not 0.3",
    ]

"""The public calls on what keys are worth, as a script or a notebook makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim


def test_steps_are_rows_of_plain_values(tmp_path: Path) -> None:
    found = tilesim.sensitivity(
        "pocket", "pocket-2x1", ["host.*", "clock_hz"], store=tmp_path / "rows.sqlite", workers=1
    )
    assert [row["key"] for row in found["steps"]] == ["host.sends_instructions"] + ["clock_hz"] * 2 + [
        "host.bytes_per_cycle"
    ] * 2 + ["host.sends_padding", "host.latency_cycles", "host.request_ns", "host.sends_parameters"]
    assert len({frozenset(row) for row in found["steps"]}) == 1  # a table has the same columns in every row
    assert all(isinstance(value, str | int | float | None) for row in found["steps"] for value in row.values())
    again = tilesim.sensitivity("pocket", "pocket-2x1", ["host.*", "clock_hz"], store=tmp_path / "rows.sqlite")
    assert again == found
    tilesim.save_sensitivity(found, tmp_path / "page.html")
    assert "pocket on pocket-2x1" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_network_and_a_chip_are_what_their_names_are() -> None:
    named = tilesim.sensitivity("pocket", "pocket-2x1", ["host.latency*"])
    given = tilesim.sensitivity(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"), ["host.latency*"])
    assert given == named
    changed = tilesim.sensitivity("pocket", tilesim.load_topology("pocket-2x1", {"grid": "1x1"}), ["grid.rows"])
    assert changed["base"]["command"] == "tilesim run pocket -t pocket-2x1 --set grid.rows=1"
    assert changed["steps"][0]["value"] == 2


def test_several_inferences_take_the_time_of_all() -> None:
    once, twice = (tilesim.sensitivity("pocket", "pocket-2x1", ["ring.queue"], inferences=n)["base"] for n in (1, 2))
    assert (once["inferences"], twice["inferences"]) == (1, 2)
    assert twice["time_us"] > 1.5 * once["time_us"]


def test_wrong_arguments_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.sensitivity("pocket", 3, "tile.*")  # type: ignore[arg-type]
    assert caught.value.faults == (
        "the topology must be a Topology, a path or a text, which load_topology makes, not an int",
        "the keys must be a sequence of texts, not 'tile.*'",
    )
    with pytest.raises(tilesim.InputError, match=r"what tilesim\.sensitivity returns"):
        tilesim.save_sensitivity({}, tmp_path / "page.html")  # type: ignore[typeddict-item]
    with pytest.raises(tilesim.InputError, match="the workers must be at least 1, not 0"):
        tilesim.sensitivity("pocket", "pocket-2x1", workers=0)
    with pytest.raises(tilesim.ConfigError, match="there is no such workload"):
        tilesim.sensitivity("nothing", "pocket-2x1")
    assert not [*tmp_path.iterdir()]

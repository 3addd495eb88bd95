"""Which chip a model is run on where none is named."""

from __future__ import annotations

import pytest

import tilesim as api
from tests.cli.conftest import Tilesim
from tilesim.cli.programs import SMALLEST_FIRST
from tilesim.tiled.topology import Topology


def test_all_chips_of_up_to_64_tiles_are_tried_and_the_smallest_first() -> None:
    """One whose parameters are the host's comes last; the other such chip has room for no more. Larger ones must be
    asked for: it takes seconds to find that they have no room.
    """
    shipped = [chip for chip in map(api.load_topology, api.list_topologies()) if isinstance(chip, Topology)]
    by_size = sorted(shipped, key=lambda chip: (chip.host.sends_parameters, chip.tiles * chip.macs_per_cycle))
    assert tuple(chip.name for chip in by_size if chip.tiles <= 64 and chip.name != "coral-pcie") == SMALLEST_FIRST


@pytest.mark.parametrize(("words", "chip"), [(("pocket",), "pocket-2x1"), (("digits", "example-conv"), "edge-1x1")])
def test_the_smallest_chip_that_holds_all_models_is_chosen(tilesim: Tilesim, words: tuple[str, ...], chip: str) -> None:
    chosen = tilesim("run", *words).stdout
    assert f" on {chip}, " in chosen
    note = f"chosen: {chip}, the smallest chip that holds all of it; --topology names another\n\n"
    assert chosen.startswith(note)
    assert tilesim("run", *words, "-t", chip).stdout == chosen.replace(note, "")


def test_a_model_too_large_for_all_of_them_is_refused(tilesim: Tilesim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.cli.programs.SMALLEST_FIRST", SMALLEST_FIRST[:1])
    result = tilesim("run", "digits")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: digits: its program must fit the instruction memory of pocket-2x1: ")
    assert result.stderr.endswith("; no chip that comes with tilesim is larger\n")

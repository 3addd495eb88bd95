"""``tilesim topologies``: what it prints of a chip."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tilesim
from tilesim.shipped import shipped


@pytest.mark.parametrize("name", ["edge-4x4", "tpu-v1"])
def test_a_chip_as_its_file_has_it(tilesim: Tilesim, name: str) -> None:
    result = tilesim("topologies", name, "--yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (shipped("topologies") / f"{name}.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "--yaml must have the name of a chip beside it"),
        (("edge-4x4", "--json"), "--yaml must be left out with --json"),
    ],
)
def test_one_chip_and_one_form(tilesim: Tilesim, words: tuple[str, ...], sentence: str) -> None:
    result = tilesim("topologies", "--yaml", *words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {sentence}\n")

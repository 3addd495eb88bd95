"""The command line, called in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from typer.testing import CliRunner, Result

from tilesim.cli import app

Tilesim: TypeAlias = Callable[..., Result]


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a terminal: where nobody looks, lines would be as long as they need."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def tilesim() -> Tilesim:
    """Call with the words of a command line; an exception that is no exit fails the test."""

    def call(*words: object) -> Result:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call

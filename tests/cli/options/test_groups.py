"""Groups of options in the place of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer.core

from tilesim.cli.options.groups import REPEATED, Options, flattened, given, repeated, spelt
from tilesim.errors import InputError


@dataclass(frozen=True)
class Colours(Options):
    paint: Annotated[list[str] | None, "--paint"] = None
    dark_mode: bool = False
    set_: str = ""


def told(name: str, colours: Colours, loud: bool = False) -> None:
    """What the command does."""
    name.encode()
    assert colours == Colours(["red"], set_="x")
    assert loud


def test_a_group_becomes_its_options_and_is_made_again() -> None:
    command = flattened(told)
    assert [*signature(command).parameters] == ["context", "name", "paint", "dark_mode", "set_", "loud"]
    assert signature(command).parameters["paint"].annotation == Annotated[list[str] | None, "--paint"]
    assert command.__doc__ == told.__doc__
    words = {"name": "n", "paint": ["red"], "dark_mode": False, "set_": "x", "loud": True}
    context = typer.Context(typer.core.TyperCommand("told"))
    command(context=context, **words)
    context.meta[REPEATED] = ["--paint red must be given once"]
    with pytest.raises(InputError, match="--paint red"):
        command(context=context, **words)


@pytest.mark.parametrize(
    ("option", "words", "thing"),
    [
        ("--set", ["a=1", "b=1", "a=2"], "--set a"),
        ("--hold", ["x=1", "x=1"], "--hold x"),
        ("--topology", ["edge-1x1", "edge-1x1"], "--topology edge-1x1"),
        ("--out", ["", ""], "--out"),
    ],
)
def test_what_is_said_twice_is_said(option: str, words: list[str], thing: str) -> None:
    assert [*repeated(option, words)] == [f"{thing} must be given once, not 2 times"]
    assert [*repeated(option, words[:1])] == []


def test_what_was_given_can_be_said_again() -> None:
    colours = Colours(["red", "blue"], True, "x")
    assert given(Colours()) == {}
    assert given(colours) == {"--paint": ["red", "blue"], "--dark-mode": True, "--set": "x"}
    assert spelt(colours) == ["--paint", "red", "--paint", "blue", "--dark-mode", "--set", "x"]

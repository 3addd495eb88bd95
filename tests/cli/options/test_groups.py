"""Groups of options in the place of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

from tilesim.cli.options.groups import flattened, given, spelt


@dataclass(frozen=True)
class Colours:
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
    assert [*signature(command).parameters] == ["name", "paint", "dark_mode", "set_", "loud"]
    assert signature(command).parameters["paint"].annotation == Annotated[list[str] | None, "--paint"]
    assert command.__doc__ == told.__doc__
    command(name="n", paint=["red"], dark_mode=False, set_="x", loud=True)


def test_what_was_given_can_be_said_again() -> None:
    colours = Colours(["red", "blue"], True, "x")
    assert given(Colours()) == {}
    assert given(colours) == {"--paint": ["red", "blue"], "--dark-mode": True, "--set": "x"}
    assert spelt(colours) == ["--paint", "red", "--paint", "blue", "--dark-mode", "--set", "x"]

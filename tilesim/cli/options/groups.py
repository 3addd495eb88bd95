"""Groups of options that several commands have in common: dataclasses, a field an option, which its annotation says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from typing import get_type_hints

import typer

from tilesim.cli.faults import Faults
from tilesim.errors import refuse

SEVERAL: Mapping[str, Callable[[str], str]] = {
    "--set": lambda word: word.partition("=")[0],
    "--hold": lambda word: word.rpartition("=")[0] or word,
    "--instant": str,
    "--trace-tracks": str,
    "--topology": str,
    **dict.fromkeys(("--keys", "--fit", "--vary", "--where", "--minimise", "--maximise"), str),
    **dict.fromkeys(
        ("--partition", "--loop-order"), str
    ),  # of layers, which have numbers and names, more is said when these are known
}
"""Options that may be given several times, and what of their words may not be the same; any other is given once."""

REPEATED = "tilesim.repeated"
"""Where a context keeps what is said of options that are given too often."""


@dataclass(frozen=True)
class Options:
    """A group of options."""

    def faults(self) -> Iterator[str]:
        """What is wrong with their words, whatever they are about."""
        yield from ()


def word_option(metavar: str, meaning: str, *names: str) -> object:
    """An option that takes what the help calls ``metavar``; without ``names`` it has that of its parameter."""
    return typer.Option(*names, metavar=metavar, help=meaning)


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """``command`` as Typer knows commands: in the place of each parameter that is a group, the group's options.

    One that takes :data:`Faults` gets those of its words, to tell them with all others; for another, they are its end.
    """
    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    groups: dict[str, type[Options]] = {}
    taken = ""
    for parameter in signature(command, eval_str=True).parameters.values():
        group = parameter.annotation
        if isinstance(group, type) and issubclass(group, Options):
            groups[parameter.name] = group
            parameters += _parameters(group)
        elif group == Faults:
            taken = parameter.name
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    def called(context: typer.Context, **words: object) -> None:
        made = {name: group(*(words.pop(field.name) for field in fields(group))) for name, group in groups.items()}
        faults = [*context.meta.get(REPEATED, ()), *(fault for group in made.values() for fault in group.faults())]
        if not taken:
            refuse(faults)
        command(**words, **made, **({taken: faults} if taken else {}))

    called.__doc__ = command.__doc__
    called.__dict__["__signature__"] = Signature(parameters)
    return called


def _parameters(group: type[Options]) -> Iterator[Parameter]:
    annotations = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=annotations[field.name])


def repeated(option: str, words: Sequence[str]) -> Iterator[str]:
    """A sentence for each thing that the ``words`` after an option give several times."""
    thing = SEVERAL.get(option, lambda _: "")
    for name, count in Counter(map(thing, words)).items():
        if count > 1:
            yield f"{option}{' ' * bool(name)}{name} must be given once, not {count} times"


def given(*groups: Options) -> dict[str, object]:
    """The options of groups that are not as they are when left out: ``--no-cache``, and the value."""
    return {
        f"--{field.name.rstrip('_').replace('_', '-')}": value
        for group in groups
        for field in fields(group)
        if (value := getattr(group, field.name)) != field.default
    }


def spelt(*groups: Options) -> list[str]:
    """The words of a command line that give the same options."""
    words: list[str] = []
    for option, value in given(*groups).items():
        if value is True:
            words.append(option)
        else:
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (option, str(one))]
    return words

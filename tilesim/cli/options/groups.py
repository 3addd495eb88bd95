"""Groups of options that several commands have in common: dataclasses, a field an option, which its annotation says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """``command`` as Typer knows commands: in the place of each parameter that is a group, the group's options."""
    parameters: list[Parameter] = []
    groups: dict[str, Callable[..., DataclassInstance]] = {}
    options: dict[str, list[Parameter]] = {}
    for parameter in signature(command, eval_str=True).parameters.values():
        group: type = parameter.annotation
        if is_dataclass(group):
            groups[parameter.name] = group
            options[parameter.name] = [*_parameters(group)]
        parameters += options.get(parameter.name) or [parameter.replace(kind=Parameter.KEYWORD_ONLY)]

    def called(**words: object) -> None:
        made = {name: group(*(words.pop(each.name) for each in options[name])) for name, group in groups.items()}
        command(**words, **made)

    called.__doc__ = command.__doc__
    called.__dict__["__signature__"] = Signature(parameters)
    return called


def _parameters(group: type[DataclassInstance]) -> Iterator[Parameter]:
    annotations = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=annotations[field.name])


def given(*groups: DataclassInstance) -> dict[str, object]:
    """The options of groups that are not as they are when left out: ``--no-cache``, and the value."""
    return {
        f"--{field.name.rstrip('_').replace('_', '-')}": value
        for group in groups
        for field in fields(group)
        if (value := getattr(group, field.name)) != field.default
    }


def spelt(*groups: DataclassInstance) -> list[str]:
    """The words of a command line that give the same options."""
    words: list[str] = []
    for option, value in given(*groups).items():
        if value is True:
            words.append(option)
        else:
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (option, str(one))]
    return words

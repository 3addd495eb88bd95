"""``dataclass`` and ``cached_property`` as in the standard library, in a fraction of the time.

That ``dataclass`` compiles six methods for each class as its module is imported: most of what it takes to import a
compiler. This one compiles a method when it is first called, of most classes never; those that need no text of their
own are shared. That ``cached_property``, before Python 3.12, takes a lock that all instances of a class share; this
one takes none: threads that ask at the same time may work it out twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 to hand it on
    from functools import cached_property as cached_property  # noqa: PLC0414
else:

    class cached_property:  # noqa: N801 as that is called
        """The standard library's, for instances that have a dictionary."""

        def __init__(self, func):
            self.func, self.__doc__ = func, func.__doc__

        def __set_name__(self, _, name):
            self.name = name

        def __get__(self, instance, _=None):
            if instance is None:
                return self
            value = vars(instance)[self.name] = self.func(instance)
            return value

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, kw_only=False):  # noqa: A002 as that is called
        """The standard library's, without the arguments that nobody uses."""

        def made(cls):
            return _made(cls, frozen, eq, repr, kw_only)

        return made if cls is None else made(cls)


Text: TypeAlias = tuple[str, dict[str, Any]]
"""A method's text, and the names that it takes from outside."""
_PARAMS = "__dataclass_params__"


def _made(cls: type[Any], frozen: bool, eq: bool, shown: bool, kw_only: bool) -> type[Any]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # without one the library looks for a signature
    own = set(vars(cls))
    below_frozen = any(getattr(base, _PARAMS).frozen for base in cls.__mro__[1:] if hasattr(base, _PARAMS))
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, frozen=below_frozen)(cls)
    getattr(cls, _PARAMS).frozen = frozen
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {"__init__": _later(cls, "__init__", lambda: _init(cls, fields, frozen))}
    if shown:
        methods["__repr__"] = _repr([field.name for field in fields if field.repr])
    if eq:
        compared = [field.name for field in fields if field.compare]
        methods["__eq__"] = _later(cls, "__eq__", lambda: _eq(compared))
        methods["__hash__"] = _later(cls, "__hash__", lambda: _hash(compared)) if frozen else None
    if frozen:
        methods |= _guards(cls, {field.name for field in fields})
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and vars(cls)[name] is None):  # a class with __eq__ has that from it
            setattr(cls, name, method)
    return cls


def _later(cls: type[Any], name: str, text: Callable[[], Text]) -> Callable[..., Any]:
    """A method that puts the one whose text this is in its own place, at its first call."""

    def first(self: Any, *args: Any, **named: Any) -> Any:
        source, known = text()
        known["__name__"] = cls.__module__
        exec(source, known)  # noqa: S102 names of fields are all that goes into it
        method = known[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *args, **named)

    return first


def _init(cls: type[Any], fields: Sequence[Field[Any]], frozen: bool) -> Text:
    known: dict[str, Any] = {"set_field": object.__setattr__, "missing": MISSING}
    body = []
    for field in fields:
        name, value = field.name, field.name
        if field.default_factory is not MISSING:
            known[f"make_{name}"] = field.default_factory
            value = f"make_{name}() if {name} is missing else {name}" if field.init else f"make_{name}()"
        if field.init or field.default_factory is not MISSING:
            body.append(f" set_field(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    body += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    plain, named = ([_parameter(f, known) for f in fields if f.init and f.kw_only == only] for only in (False, True))
    parameters = ", ".join(["self", *plain, *(["*"] if named else []), *named])
    return "\n".join([f"def __init__({parameters}):", *(body or [" pass"])]), known


def _parameter(field: Field[Any], known: dict[str, Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=missing"
    if field.default is MISSING:
        return field.name
    known[f"default_{field.name}"] = field.default
    return f"{field.name}=default_{field.name}"


def _eq(names: Sequence[str]) -> Text:
    return (
        "def __eq__(self, other):\n"
        " if other.__class__ is self.__class__:\n"
        f"  return {_listed('self', names)} == {_listed('other', names)}\n"
        " return NotImplemented"
    ), {}


def _hash(names: Sequence[str]) -> Text:
    return f"def __hash__(self):\n return hash({_listed('self', names)})", {}


def _listed(of: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{of}.{name},' for name in names)})"


def _repr(names: Sequence[str]) -> Callable[[Any], str]:
    def shown(self: Any) -> Iterator[str]:
        return (f"{name}={getattr(self, name)!r}" for name in names)

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807 a method of the class
        return f"{type(self).__qualname__}({', '.join(shown(self))})"

    return __repr__


def _guards(cls: type[Any], names: set[str]) -> dict[str, Callable[..., None]]:
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}

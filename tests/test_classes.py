"""Classes made here are those of the standard library: each is made both ways, and they are compared."""

import dataclasses
import functools
import pickle
from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import Any, ClassVar

import pytest

from tilesim.classes import cached_property, dataclass

Make = Callable[..., Any]
BOTH = pytest.mark.parametrize("made", [dataclass, dataclasses.dataclass], ids=["here", "library"])


def point(made: Make, **options: Any) -> type[Any]:
    @made(**options)
    class Point:
        """Something with fields of all kinds."""

        scale: ClassVar[int] = 2
        x: int
        y: int = 1
        names: list[str] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        later: int = field(init=False)
        known: dict[str, int] = field(default_factory=dict, init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "later", self.x + self.y)

        @cached_property
        def twice(self) -> int:
            return self.scale * self.x

    return Point


@dataclass(frozen=True)
class Pickled:
    x: int


@BOTH
def test_fields_have_defaults_and_are_shown(made: Make) -> None:
    of = point(made, frozen=True)
    one = of(4, names=["a"])
    assert repr(one).endswith("Point(x=4, y=1, names=['a'], later=5, known={})")
    assert (one.hidden, one.twice, of(1).names) == (3, 8, [])
    assert of(1).names is not of(1).names
    assert [each.name for each in fields(of)] == ["x", "y", "names", "hidden", "later", "known"]
    assert of.__match_args__ == ("x", "y", "names", "hidden")


@BOTH
def test_they_are_equal_by_what_is_compared(made: Make) -> None:
    of = point(made, frozen=True)
    assert of(1, 2, ["a"]) == of(1, 2)
    assert of(1, 2) != of(1, 3)
    assert of(1, 2) != (1, 2, 3, 3)
    assert len({of(1, 2), of(1, 2, ["b"]), of(2, 2)}) == 2
    assert replace(of(1, 2), x=7) == of(7, 2)


@BOTH
def test_frozen_ones_stay_as_they_are(made: Make) -> None:
    one = point(made, frozen=True)(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot assign to field 'x'$"):
        one.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot delete field 'x'$"):
        del one.x
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot assign to field 'new'$"):
        one.new = 2


@BOTH
def test_others_change_and_have_no_hash(made: Make) -> None:
    one = point(made)(1)
    one.x = 5
    assert one.x == 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@BOTH
def test_without_eq_each_is_its_own(made: Make) -> None:
    of = point(made, frozen=True, eq=False, repr=False)
    assert of(1) != of(1)
    assert hash(of(1)) is not None
    assert "object at" in repr(of(1))


@BOTH
def test_wrong_arguments(made: Make) -> None:
    of = point(made, frozen=True)
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        of()
    with pytest.raises(TypeError, match=r"Point.__init__\(\) got an unexpected keyword argument 'z'"):
        of(1, z=2)


@BOTH
def test_named_ones_and_those_that_inherit(made: Make) -> None:
    @made(frozen=True, kw_only=True)
    class Named:
        a: int
        b: int = 2

    @made(frozen=True, kw_only=True)
    class More(Named):
        c: int

    assert More(a=1, c=3) == More(c=3, b=2, a=1)
    assert More(a=1, c=3) != Named(a=1)
    assert repr(More(a=1, c=3)).endswith("More(a=1, b=2, c=3)")
    with pytest.raises(TypeError, match="positional argument"):
        More(1, 2, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        More(a=1, c=3).a = 2


@pytest.mark.parametrize(("below", "above"), [(dataclass, dataclasses.dataclass), (dataclasses.dataclass, dataclass)])
def test_one_kind_inherits_from_the_other(below: Make, above: Make) -> None:
    @below(frozen=True)
    class Below:
        a: int

    @above(frozen=True)
    class Above(Below):
        b: int = 5

    assert Above(1) == Above(1, 5)
    with pytest.raises(dataclasses.FrozenInstanceError, match="'b'"):
        Above(1).b = 1  # type: ignore[misc]


@BOTH
def test_methods_of_its_own_stay(made: Make) -> None:
    @made(frozen=True)
    class Own:  # noqa: PLW1641 it gets one
        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
    assert hash(Own(1)) == hash(Own(1)) != hash(Own(2))


def test_a_method_is_compiled_once() -> None:
    of = point(dataclass, frozen=True)
    first = of.__init__
    of(1)
    compiled = of.__init__
    of(2)
    assert first is not compiled
    assert of.__init__ is compiled


def test_they_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(3))) == Pickled(3)  # noqa: S301


@pytest.mark.parametrize("cached", [cached_property, functools.cached_property], ids=["here", "library"])
def test_a_property_is_worked_out_once(cached: Make) -> None:
    asked = []

    @dataclass(frozen=True)
    class Square:
        side: int

        @cached
        def area(self) -> int:
            """Of the square."""
            asked.append(self.side)
            return self.side**2

    one, other = Square(3), Square(4)
    assert (one.area, one.area, other.area, asked) == (9, 9, 16, [3, 4])
    assert Square.area.__doc__ == "Of the square."
    assert vars(one) == {"side": 3, "area": 9}

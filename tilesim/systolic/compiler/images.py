"""The images of several inferences: what one instruction can work on together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ANY: Mapping[int, int] = {}


@dataclass(frozen=True)
class Together:
    """``count`` inferences from number ``first`` of a step on, whose images lie ``pitches`` bytes apart, for each
    operand; 0 for a single one.
    """

    first: int
    count: int
    pitches: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.first + self.count


def together(*operands: Sequence[int], pitches: Mapping[int, int] = ANY) -> Iterator[Together]:
    """Cut the inferences of a step where the images of an operand are no longer equally far apart.

    Args:
        operands: of each, an address for each inference.
        pitches: of some operands, by number, the only distance that will do.
    """
    first, count = 0, len(operands[0])
    while first < count:
        end = first + 1
        steps = tuple(own[end] - own[first] if end < count else 0 for own in operands)
        while end < count and _fits(operands, end, steps, pitches):
            end += 1
        yield Together(first, end - first, steps if end - first > 1 else (0,) * len(operands))
        first = end


def _fits(operands: Sequence[Sequence[int]], k: int, steps: tuple[int, ...], pitches: Mapping[int, int]) -> bool:
    """Whether image ``k`` of each operand lies as far from the one before as it has to."""
    return all(
        own[k] - own[k - 1] == step == pitches.get(number, step) and step >= 0
        for number, (own, step) in enumerate(zip(operands, steps, strict=True))
    )

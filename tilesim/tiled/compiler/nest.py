"""Writing a loop nest down loop by loop, with each operand's stride beside its bound."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference


@dataclass(frozen=True)
class Level:
    """A loop and how far it moves each operand, by the operand's name."""

    name: str
    bound: int
    strides: dict[str, int]
    reduce: bool = False


class NestWriter:
    """Loops, outermost first, the lanes last; those that run once are left out, but never all, nor all inside ``y``."""

    def __init__(self, lines: list[Level], alternate: Alternate | None = None) -> None:
        kept = [line for line in lines[:-1] if line.bound > 1] or lines[:1]
        alone = kept[0].name == "y" and kept[0].bound > 1 and not kept[1:]
        self.lines: list[Level] = [*kept, *(lines[1:2] if alone else ()), lines[-1]]
        loops = tuple(Loop(line.name, line.bound) for line in self.lines)
        self.nest = Nest(loops, alternate)
        self.reduce = tuple(line.name for line in self.lines if line.reduce)

    @property
    def outermost(self) -> str:
        """The loop whose completion is that of the whole instruction."""
        return self.lines[0].name

    @property
    def each_row(self) -> str:
        """The loop that completes with each round of ``y``, or the outermost one if there is only one row."""
        return self.lines[1].name if self.lines[0].name == "y" and self.lines[2:] else self.outermost

    def reference(self, operand: str, base: int) -> Reference:
        return Reference(
            base, tuple((line.name, line.strides[operand]) for line in self.lines if line.strides.get(operand))
        )

"""How an activation tensor lies in narrow memory."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.network.operators.padding import Padding


@dataclass(frozen=True)
class Shape:
    """Rows, columns and channels of a map; a vector is one pixel."""

    height: int
    width: int
    channels: int

    @staticmethod
    def of(shape: tuple[int, ...]) -> Shape:
        """Of a canonical tensor shape (1, H, W, C), or (..., n), which is one pixel of n channels."""
        return Shape(*shape[1:]) if len(shape) == 4 else Shape(1, 1, shape[-1])

    @property
    def pixels(self) -> int:
        return self.height * self.width

    def __str__(self) -> str:
        return f"{self.height} x {self.width} x {self.channels}"


@dataclass(frozen=True)
class FeatureMap:
    """A map with a border: pixels of ``pixel_bytes`` (channels padded to whole words), rows of ``row_bytes``.

    ``address`` is where the border begins; ``size_bytes`` includes the border, and the slack into which whole wide
    rows may spill.
    """

    shape: Shape
    border: Padding
    pixel_bytes: int
    slack_bytes: int = 0
    address: int = 0

    @property
    def row_bytes(self) -> int:
        return (self.border.left + self.shape.width + self.border.right) * self.pixel_bytes

    @property
    def size_bytes(self) -> int:
        return (self.border.top + self.shape.height + self.border.bottom) * self.row_bytes + self.slack_bytes

    def at(self, row: int, column: int) -> int:
        """The address of a pixel; (0, 0) is the first inside the border."""
        return self.address + (row + self.border.top) * self.row_bytes + (column + self.border.left) * self.pixel_bytes


def padded(count: int, multiple: int) -> int:
    """``count`` rounded up to a multiple."""
    return -(-count // multiple) * multiple


def widest(borders: list[Padding]) -> Padding:
    """The border that serves all of them."""
    return Padding(*(max(sides) for sides in zip(*borders, strict=True))) if borders else Padding()

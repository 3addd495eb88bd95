"""What pictures are for: how wide, and in which formats. It draws nothing, and needs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.errors import InputError

WIDTHS_INCHES = {1: 3.5, 2: 7.16}
"""One column, or both, of a paper of two."""


@dataclass(frozen=True)
class FigureLayout:
    """For how many of a paper's two ``columns`` pictures are, and whether they are files for LaTeX, too.

    Raises:
        InputError: another number of columns.
    """

    columns: int = 2
    pdf: bool = False

    def __post_init__(self) -> None:
        if self.columns not in WIDTHS_INCHES:
            raise InputError(f"pictures must be for 1 or 2 columns, not {self.columns}")

    @property
    def width_inches(self) -> float:
        return WIDTHS_INCHES[self.columns]

    @property
    def formats(self) -> tuple[str, ...]:
        """The endings of a picture's files."""
        return ("png", "svg", "pdf") if self.pdf else ("png", "svg")


PLAIN = FigureLayout()

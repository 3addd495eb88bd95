"""What maps are called."""

from __future__ import annotations


def map_name(index: int) -> str:
    """A tensor where the layer that makes it leaves it."""
    return f"tensor{index}"


def copy_name(index: int) -> str:
    """A tensor gathered whole in each tile that reads all of it."""
    return f"copy{index}"


def band_name(index: int, band: int) -> str:
    """What a band of a group needs of a tensor that is never whole in memory."""
    return f"{map_name(index)}.band{band}"


def place_name(name: str) -> str:
    """What a map has its address in common with: all bands of its tensor."""
    return name.partition(".")[0]


def tensor_of(name: str) -> int:
    """The tensor that a map, a copy or a band holds of."""
    return int(place_name(name).removeprefix("copy").removeprefix("tensor"))

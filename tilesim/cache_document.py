"""Where the parameters of networks live on a chip, key by key: what ``tilesim cache`` prints."""

from __future__ import annotations

from typing import TypedDict


class LackDocument(TypedDict):
    """A tile that has too little room."""

    tile: int
    """Its number."""
    below_bytes: int
    """It has room for less than so many bytes; 0: for none."""


class CachedSet(TypedDict):
    """Parameters of a layer that live together."""

    chunk: int
    """Which part of the layer's parameters, from 0."""
    bytes_per_tile: int
    """Bytes of them in each tile that uses them."""
    per_tile: bool
    """Whether each tile has others."""
    tiles: list[int]
    """The tiles that use them."""
    home: str
    """``copy`` or ``partition`` in those tiles, ``home tile``, ``home tiles`` or ``streamed``."""
    home_tile: int | None
    """The tile that keeps them for all."""
    home_tiles: list[int]
    """The tiles that keep them, or some of them, for others."""
    cached_bytes: int
    """Bytes of wide memory, copies counted."""
    lack: LackDocument | None
    """A tile that has too little room for a better home."""
    reason: str
    """Why they live there."""


class CachedLayer(TypedDict):
    """A layer that has parameters."""

    layer: int
    """Its place in the network."""
    name: str
    """What the model calls it: by its node in ONNX, if that has a name of its own, else by its output."""
    kind: str
    """Its operator."""
    sets: list[CachedSet]
    """Its parameters."""


class CachedNetwork(TypedDict):
    """A network."""

    name: str
    """Its name."""
    layers: list[CachedLayer]
    """Those of its layers that have parameters."""


class TileAccount(TypedDict):
    """The wide memory of a tile."""

    tile: int
    """Its number."""
    capacity_bytes: int
    """Its size."""
    reserve_bytes: int
    """Bytes that are kept free."""
    peak_bytes: int
    """The most bytes in use for anything but cached parameters."""
    cached_bytes: int
    """Bytes of cached parameters."""
    free_bytes: int
    """What is left; negative where nothing is."""


class CacheDocument(TypedDict):
    """Networks that share a chip, and where their parameters live."""

    schema: str
    """``tilesim.cache/1``."""
    topology: str
    """Name of the chip."""
    networks: list[CachedNetwork]
    """The networks."""
    tiles: list[TileAccount]
    """The tiles."""
    parameter_bytes: int
    """Bytes of all parameters, as data memory holds them."""
    data_memory_bytes: int
    """Size of data memory."""
    wide_memory_bytes: int
    """Size of all wide memories."""
    tiles_hold_data_memory: bool
    """Whether all wide memories together hold as much as data memory does."""
    cached_bytes: int
    """Bytes of cached parameters, copies counted."""
    load_bytes: int
    """Bytes that come before the first inference."""
    load_descriptors: int
    """Instructions that bring them."""
    load_cycles_at_least: int
    """The least cycles that data memory takes for them."""
    streamed_bytes: int
    """Bytes that come in every inference."""
    streamed_cycles_at_least: int
    """The least cycles that data memory takes for them."""
    runs: int
    """Runs of cached and of other parameters in data memory."""
    runs_in_order: int
    """How many there would be if they lay there in the order of their use."""

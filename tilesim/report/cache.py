"""Where parameters live, as text that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from tilesim.cache_document import CachedLayer, CachedNetwork, CacheDocument, CachedSet, LackDocument, TileAccount
from tilesim.printable import printable
from tilesim.report.tables import folded, grid, left, right, table
from tilesim.report.words import ending, short_name
from tilesim.units import format_bytes

NAME_WIDTH = 26
"""Columns for the name of a layer, so that a line fits 80."""


def cache_summary(document: CacheDocument) -> Group:
    """The document of a plan in words and tables: layers, tiles, totals."""
    names = ", ".join(printable(network["name"]) for network in document["networks"])
    parts: list[RenderableType] = [Text.assemble((names, "bold"), " on ", (printable(document["topology"]), "bold"))]
    for network in document["networks"]:
        parts += ["", _layer_table(network)]
    return Group(*parts, "", _tile_table(document["tiles"]), "", _totals(document))


def _layer_table(network: CachedNetwork) -> Table:
    """A line for each run of a layer's sets that live alike."""
    title = ending(f"layer of {printable(network['name'])}", NAME_WIDTH)
    lines = table(*right(""), *left(title), *right("bytes"), *left("where"), *folded("too little room in"))
    for layer in network["layers"]:
        for _, run in groupby(layer["sets"], lambda part: part["home"]):
            sets = list(run)
            name, size = Text(_label(layer, sets)), format_bytes(_bytes(sets))
            lines.add_row(str(layer["layer"]), name, size, _where(sets), _lack(sets[0]["lack"]))
    return lines


def _label(layer: CachedLayer, sets: Sequence[CachedSet]) -> str:
    name, count = short_name(layer["name"]), len(layer["sets"])
    if len(sets) == count:
        return ending(name, NAME_WIDTH)
    first, last = sets[0]["chunk"] + 1, sets[-1]["chunk"] + 1
    part = f", {first if first == last else f'{first}-{last}'} of {count}"
    return ending(name, NAME_WIDTH - len(part)) + part


def _bytes(sets: Sequence[CachedSet]) -> int:
    """Of all different parameters."""
    return sum(part["bytes_per_tile"] * (len(part["tiles"]) if part["per_tile"] else 1) for part in sets)


def _where(sets: Sequence[CachedSet]) -> str:
    home, tiles = sets[0]["home"], sets[0]["tiles"]
    if home == "home tile":
        homes = {part["home_tile"] for part in sets}
        return f"home tile {homes.pop()}" if len(homes) == 1 else f"{len(homes)} home tiles"
    if home == "home tiles":
        homes = {tile for part in sets for tile in part["home_tiles"]}
        return f"split over {len(homes)}" if not sets[0]["per_tile"] else f"{len(tiles)} parts, of {len(homes)} hosts"
    if home == "streamed":
        return home if len(sets) == 1 else f"{home} in {len(sets)}"
    what = {"copy": "copies", "partition": "parts"}[home]
    return f"tile {tiles[0]}" if len(tiles) == 1 else f"{len(tiles)} {what}"


def _lack(lack: LackDocument | None) -> str:
    if lack is None:
        return ""
    return f"tile {lack['tile']}: " + (f"< {format_bytes(lack['below_bytes'])}" if lack["below_bytes"] else "none left")


def _tile_table(tiles: Sequence[TileAccount]) -> Table:
    """A line for each run of tiles that are alike."""
    lines = table(*left("tiles"), *right("wide memory", "reserve", "peak in use", "cached", "free"))
    for figures, run in groupby(tiles, _figures):
        numbers = [tile["tile"] for tile in run]
        which = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
        lines.add_row(which, *(_signed(figure) for figure in figures))
    return lines


def _figures(tile: TileAccount) -> tuple[int, ...]:
    return (
        tile["capacity_bytes"], tile["reserve_bytes"], tile["peak_bytes"], tile["cached_bytes"], tile["free_bytes"],
    )  # fmt: skip


def _signed(size: int) -> str:
    return format_bytes(size) if size >= 0 else f"-{format_bytes(-size)}"


def _totals(document: CacheDocument) -> Table:
    data, wide = format_bytes(document["data_memory_bytes"]), format_bytes(document["wide_memory_bytes"])
    loaded, streamed = format_bytes(document["load_bytes"]), format_bytes(document["streamed_bytes"])
    lines = grid(Column(style="bold"), Column())
    lines.add_row("parameters", f"{format_bytes(document['parameter_bytes'])} of {data} of data memory")
    lines.add_row("cached", f"{format_bytes(document['cached_bytes'])} of {wide} of wide memory, copies counted")
    lines.add_row("loading", f"{loaded} once, in {document['load_cycles_at_least']:,} cycles or more")
    lines.add_row("streamed", f"{streamed} an inference, in {document['streamed_cycles_at_least']:,} cycles or more")
    lines.add_row("descriptors", f"{document['load_descriptors']} for loading")
    lines.add_row(
        "runs", f"{document['runs']} in data memory, cached or not ({document['runs_in_order']} in order of use)"
    )
    return lines

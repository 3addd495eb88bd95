"""``tilesim workloads``: the networks that come with tilesim, or all keys of such a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.api import list_workloads, load_network
from tilesim.network.graph import Network
from tilesim.units import format_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def command(
    keys: Annotated[bool, typer.Option("--keys", help="Show every key of a network in YAML instead.")] = False,
) -> None:
    """List the networks that come with tilesim, or every YAML key."""
    from tilesim.report.terminal import show

    show(*_keys() if keys else [_networks()])


def _networks() -> Table:
    from tilesim.report.tables import folded, left, right, table

    lines = table(*left("name", "input"), *folded("layers"), *right("MACs", "parameters"))
    for name in list_workloads():
        network = load_network(name)
        counts = f"{network.macs:,}", format_bytes(network.parameter_bytes)
        lines.add_row(name, _inputs(network), _layers(network), *counts)
    return lines


def _keys() -> Iterator[RenderableType]:
    from rich.text import Text

    from tilesim.report.tables import folded, left, table
    from tilesim.report.workload_keys import workload_keys

    for place, section in enumerate(workload_keys()):
        yield Text.assemble("\n" if place else "", (section.title, "bold"), f"  {section.meaning}")
        if section.keys:
            lines = table(*left("key"), *folded("must be"), *left("default"), *folded("meaning"))
            for key in section.keys:
                lines.add_row(*map(Text, key))
            yield lines


def _inputs(network: Network) -> str:
    tensors = [network.tensors[index] for index in network.inputs]
    return ", ".join(f"{tensor.dtype} {'x'.join(str(size) for size in tensor.model_shape)}" for tensor in tensors)


def _layers(network: Network) -> str:
    from tilesim.report.words import kind_words

    counts = Counter(kind_words(node.kind) for node in network.nodes)
    return ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in counts.items())

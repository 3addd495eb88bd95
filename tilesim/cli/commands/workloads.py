"""``tilesim workloads``: the networks that come with tilesim."""

from __future__ import annotations

from collections import Counter

from tilesim.api import list_workloads, load_network
from tilesim.network.graph import Network
from tilesim.units import format_bytes


def command() -> None:
    """List the networks that come with tilesim."""
    from rich.table import Table

    from tilesim.report.terminal import show

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "input", "layers", "MACs", "parameters"):
        right = title in {"MACs", "parameters"}
        table.add_column(title, no_wrap=title != "layers", justify="right" if right else "left")
    for name in list_workloads():
        network = load_network(name)
        table.add_row(
            name, _inputs(network), _layers(network), f"{network.macs:,}", format_bytes(network.parameter_bytes)
        )
    show(table)


def _inputs(network: Network) -> str:
    tensors = [network.tensors[index] for index in network.inputs]
    return ", ".join(f"{tensor.dtype} {'x'.join(str(size) for size in tensor.model_shape)}" for tensor in tensors)


def _layers(network: Network) -> str:
    from tilesim.report.costs import kind_words

    counts = Counter(kind_words(node.kind) for node in network.nodes)
    return ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in counts.items())

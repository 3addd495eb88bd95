"""``tilesim cache``: which parameters of one or several networks stay on a chip, and where."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.chip import SetOption, TopologyOption, overrides
from tilesim.cli.models import load_all, titles
from tilesim.cli.priorities import policy
from tilesim.cli.progress import progress
from tilesim.tiled.cache_plan import plan_cache


def cache(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="One or several .tflite, .onnx or .yaml files or workloads' names.",
            show_default=False,
        ),
    ],
    topology: TopologyOption,
    set_: SetOption = None,
    priority: Annotated[
        str | None,
        typer.Option(
            "--priority", metavar="MODEL,...", help="Networks that get room first, in descending order; else as listed."
        ),
    ] = None,
    layer_priority: Annotated[
        str | None,
        typer.Option(
            "--layer-priority",
            metavar="MODEL:LAYER,...",
            help="Layers, by name or number, that get room before all others, in descending order.",
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Plan where the parameters of networks live on a chip: cached in its tiles, or streamed in every inference."""
    chip = api.load_topology(topology, overrides(set_))
    with progress(f"reading {', '.join(models)}"):
        named = load_all(models)
        networks = {title: each.network for title, each in zip(titles(named), named, strict=True)}
        plan = plan_cache(networks, chip, policy(named, True, priority, layer_priority))
    document = plan.document()
    if json_:
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
        return
    from tilesim.report.cache import cache_summary
    from tilesim.report.terminal import show

    show(cache_summary(document))

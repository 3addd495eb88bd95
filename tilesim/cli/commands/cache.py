"""``tilesim cache``: which parameters of one or several networks stay on a chip, and where."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides
from tilesim.cli.options.compilation import LayerPriorityOption, PriorityOption, read
from tilesim.cli.options.models import titles
from tilesim.cli.options.partition import PartitionOption, partition_policy
from tilesim.cli.options.priorities import policy
from tilesim.cli.output import tell_json
from tilesim.cli.progress import progress


def command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="One or several .tflite, .onnx or .yaml files or workloads' names.",
            show_default=False,
        ),
    ],
    topology: TopologyOption = None,
    set_: SetOption = None,
    priority: PriorityOption = None,
    layer_priority: LayerPriorityOption = None,
    partition: PartitionOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Plan where parameters live on a chip.

    Those of one or several networks: cached in the chip's tiles, or streamed in every inference.
    """
    with progress(f"reading {', '.join(models)}") as say:
        named, chip = read(models, one_chip(topology), overrides(set_))
        networks = {title: each.network for title, each in zip(titles(named), named, strict=True)}
        how = policy(named, True, priority, layer_priority)
        plan = api.cache_plan(networks, chip, how, partition_policy(named, partition), say)
    document = plan.document()
    if json_:
        tell_json(document)
        return
    from tilesim.report.cache import cache_summary
    from tilesim.report.terminal import show

    show(cache_summary(document))

"""``tilesim cache``: which parameters of one or several networks stay on a chip, and where."""

from __future__ import annotations

from tilesim import api
from tilesim.cli.faults import Faults
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import PlacementOptions
from tilesim.cli.options.models import ModelsArgument, titles
from tilesim.cli.output import JsonOption, QuietOption, tell_json
from tilesim.cli.programs import read_sources
from tilesim.cli.progress import progress
from tilesim.errors import refuse
from tilesim.machines.machine import PlansCache


def command(
    models: ModelsArgument,
    chips: ChipOptions,
    placement: PlacementOptions,
    faults: Faults,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Plan where parameters live on a chip.

    Those of one or several networks: cached in the chip's tiles, or streamed in every inference.
    """
    with progress(f"reading {', '.join(models)}", quiet) as say:
        sources = read_sources(models, chips, [placement], faults, PlansCache, takes_programs=False)
        refuse(faults)
        [chip], named = sources.chips, sources.named
        networks = {title: model.network for title, model in zip(titles(named), named, strict=True)}
        cached, spread = placement.cache_policy(named), placement.partition_policy(named)
        document = api.cache_plan(networks, chip, cached, spread, say).document()
    if json_:
        tell_json(document)
        return
    from tilesim.report.cache import cache_summary
    from tilesim.report.terminal import show

    show(cache_summary(document))

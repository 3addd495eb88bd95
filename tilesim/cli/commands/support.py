"""``tilesim support``: everything that stands between models and a run, at once."""

from __future__ import annotations

import typer

from tilesim import api
from tilesim.cli.faults import Faults, faults_of
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.models import ModelsArgument, load_all
from tilesim.cli.output import JsonOption, QuietOption, tell_json
from tilesim.cli.progress import progress
from tilesim.errors import InputError, refuse
from tilesim.machines.topology import Topology
from tilesim.network.obstacles import ModelSupport, SupportDocument

SCHEMA = "tilesim.support/1"
"""The version of the document; it grows keys, and changes when one changes its meaning."""
NO_MODEL = "no model"


def command(
    models: ModelsArgument, chips: ChipOptions, faults: Faults, json_: JsonOption = False, quiet: QuietOption = False
) -> None:
    """Say what stands between models and a run, and what helps.

    Operators, types of numbers, sizes, forms; with a chip, whether it can run them. The exit status is 0 if nothing
    stands in the way, 1 if something does, and 2 if a file is no model.
    """
    chip = next(iter(chips.read(faults)), None) if chips.names or chips.set_ else None
    if faults:
        refuse([*faults, *faults_of(lambda: load_all(models))])
    looked_at = [_looked_at(model, chip, quiet) for model in dict.fromkeys(models)]
    document: SupportDocument = {"schema": SCHEMA, "topology": chip.name if chip else None, "models": looked_at}
    if json_:
        tell_json(document)
    else:
        from tilesim.report.support import support_summary
        from tilesim.report.terminal import show

        show(support_summary(document))
    refuse(fault for model in looked_at for fault in model["faults"])
    if any(model["obstacles"] for model in looked_at):
        raise typer.Exit(1)


def _looked_at(model: str, chip: Topology | None, quiet: bool) -> ModelSupport:
    """What became of one model; or, of a file that is none, why."""
    with progress(f"looking at {model}", quiet) as say:
        try:
            return api.support(model, chip, say).document(model)
        except InputError as error:
            faults = [*error.faults]
        except OSError as error:
            faults = [f"{model}: cannot be read: {error.strerror or error}"]
    return {
        "model": model,
        "verdict": NO_MODEL,
        "layers": None,
        "macs": None,
        "parameter_bytes": None,
        "obstacles": [],
        "notes": [],
        "faults": faults,
    }

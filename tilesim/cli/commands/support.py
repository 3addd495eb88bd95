"""``tilesim support``: everything that stands between models and a run, at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tilesim import api
from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides
from tilesim.cli.output import tell_json
from tilesim.cli.progress import progress
from tilesim.errors import ConfigError, InputError
from tilesim.machines.topology import Topology

SCHEMA = "tilesim.support/1"
"""The version of the document; it grows keys, and changes when one changes its meaning."""
NO_MODEL = "no model"


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
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Say what stands between models and a run, and what would help.

    Operators, types of numbers, sizes, forms; with a chip, whether it can run them. The exit status is 0 if nothing
    stands in the way, 1 if something does, and 2 if a file is no model.
    """
    chip = _chip(one_chip(topology), overrides(set_))
    found = {model: _looked_at(model, chip) for model in dict.fromkeys(models)}
    document = {"schema": SCHEMA, "topology": chip and chip.name, "models": [*found.values()]}
    if json_:
        tell_json(document)
    else:
        from tilesim.report.support import support_summary
        from tilesim.report.terminal import show

        show(support_summary(document))
    _end([*found.values()])


def _chip(word: str, changes: dict[str, object]) -> Topology | None:
    if changes and not word:
        raise ConfigError("--set changes a chip: --topology must name it")
    return api.load_topology(word, changes) if word else None


def _looked_at(model: str, chip: Topology | None) -> dict[str, Any]:
    """What became of one model; or, of a file that is none, why."""
    with progress(f"looking at {model}") as say:
        try:
            return {"model": model, **api.support(model, chip, say).document(), "faults": []}
        except InputError as error:
            faults = [*error.faults]
        except OSError as error:
            faults = [f"{model}: cannot be read: {error.strerror or error}"]
    nothing = dict.fromkeys(("layers", "macs", "parameter_bytes"))
    return {"model": model, "verdict": NO_MODEL, **nothing, "obstacles": [], "faults": faults}


def _end(found: Sequence[dict[str, Any]]) -> None:
    """End with the exit status.

    Raises:
        InputError: what is no model.
    """
    if faults := [fault for each in found for fault in each["faults"]]:
        raise InputError(faults)
    if any(each["obstacles"] for each in found):
        raise typer.Exit(1)

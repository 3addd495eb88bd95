"""Which option applies to what: the table, held against what the commands take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Tilesim
from tilesim.cli import COMMANDS, loaded
from tilesim.cli.options.scope import APPLIES, Subject

EVERYWHERE = {
    "--topology",
    "--set",
    "--json",
    "--quiet",
    "--output",
    "--schedule",
    "--from",
    "--to",
    "--units",
    "--suggest",
    "--engines",
}
"""Of commands that compile or run."""
OF_RUNS = {
    *("compare", "report", "trace", "topologies", "workloads", "demo", "guide", "support"),
    *("sweep", "sweep report", "sensitivity", "calibrate", "masters", "masters suite"),
}
VALUES = {
    "--no-cache": (), "--priority": ("pocket",), "--layer-priority": ("0",), "--partition": ("auto",),
    "--parameters-over": ("ring",), "--loop-order": ("0=blocks",), "--no-bands": (),
    "--batch-schedule": ("lcm",), "--weight-reuse": ("3",), "--power-of-two": (), "--fit": (), "--inferences": ("2",),
    "--inputs": ("in.npz",), "--trace": (), "--trace-window": (":9",), "--trace-tracks": ("*",),
    "--signals": (":9",),
    "--rules": ("observe",), "--masters": ("single",), "--hold": ("a=1",), "--instant": ("a",),
    "--energy": ("e.yaml",), "--out": ("out",),
    "--ring-trace": ("packets.csv",), "--engine": ("compiled",),
}  # fmt: skip


def test_every_option_of_commands_that_compile_or_run_is_in_the_table() -> None:
    commands: list[Any] = [loaded(name) for name in COMMANDS.keys() - OF_RUNS]
    taken = {max(parameter.opts, key=len) for command in commands for parameter in command.params}
    assert {option for option in taken if option.startswith("--")} - EVERYWHERE == set(APPLIES) == set(VALUES)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject.MODELS, ("p.tasm",)),
        (Subject.ONE_MODEL, ("pocket", "digits", "-t", "edge-1x1")),
        (Subject.ONE_CHIP, ("pocket", "-t", "pocket-2x1", "-t", "edge-1x1")),
    ],
)
def test_all_that_apply_to_something_else_are_told_at_once(
    tilesim: Tilesim, subject: Subject, words: tuple[str, ...]
) -> None:
    options = [word for option, value in VALUES.items() for word in (option, *value)]
    result = tilesim("run", *words, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    told = [line.split()[1] for line in result.stderr.splitlines() if f" applies to {subject}, not to " in line]
    assert sorted(told) == sorted(option for option, subjects in APPLIES.items() if subject in subjects)


@pytest.mark.parametrize(
    ("chip", "refused"), [("pocket-2x1", "run batches"), ("systolic-4", "spread layers over tiles")]
)
def test_a_chip_whose_machine_is_not_able_is_refused(tilesim: Tilesim, chip: str, refused: str) -> None:
    result = tilesim("run", "pocket", "-t", chip, "--partition", "auto", "--fit")
    [line] = result.stderr.splitlines()
    assert f" applies to chips that can {refused}, such as " in line
    assert line.endswith(f", not to {chip}")

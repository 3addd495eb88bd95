"""The models of the rotating machine, which tests ask alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.rotating.programs import PROLOGUE, Bare, sending_cycles
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.run import Run

Array = NDArray[Any]


@dataclass(frozen=True)
class Result:
    """What a model says of a run."""

    outputs: Sequence[Array]
    cycles: int
    units: Mapping[str, Mapping[str, int]]

    @property
    def stalls(self) -> dict[str, int]:
        """The array's, by reason."""
        return stalls(self.units["nnu.array"])

    @property
    def issue_clocks(self) -> int:
        return self.units["nnu.array"]["busy"] - PROLOGUE

    @property
    def clocks(self) -> tuple[int, int]:
        """Issue clocks and cycles, from the first slot behind the prologue on."""
        return self.issue_clocks, self.cycles - PROLOGUE


def stalls(account: Mapping[str, int]) -> dict[str, int]:
    """A unit's, by reason."""
    return {kind.removeprefix("stall:"): n for kind, n in account.items() if kind.startswith("stall:") and n}


Model = Callable[..., Result]
"""Runs a program with its inputs."""


def of_run(run: Run) -> Result:
    """What a run of the first model says."""
    accounts = {
        unit["track"]: {
            "busy": unit["busy_cycles"],
            "idle": unit["idle_cycles"],
            **{f"stall:{reason}": cycles for reason, cycles in unit["stall_cycles"].items()},
        }
        for unit in (*run.statistics["units"], *run.statistics["links"])
    }
    return Result(run.outputs, run.cycles, accounts)


def _stepped(program: Program, inputs: Sequence[Array] = ()) -> Result:
    outcome = stepped.simulate(program, inputs)
    assert not outcome.hung
    return Result(outcome.outputs, outcome.cycles, outcome.units)


def _simulated(program: Program, inputs: Sequence[Array] = ()) -> Result:
    return of_run(simulate(program, inputs))


MODELS: dict[str, Model] = {"stepped": _stepped, "simulated": _simulated}

on_all_models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def rows_after(model: Model, bare: Bare, rows: Iterable[int]) -> list[list[int]]:
    """The words of ``rows`` of the data RAM after a run, which takes as much longer as it takes to send them."""
    rows = list(rows)
    sent = model(bare.program(rows))
    alone = model(bare.program())
    assert sent.cycles == alone.cycles + sending_cycles(len(rows))
    words: list[list[int]] = np.asarray(sent.outputs[0]).reshape(len(rows), -1).tolist()
    return words

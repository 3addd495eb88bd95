"""What the host computes itself: operators as text and back, steps on several samples, and what can't be done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from scripts.differentials.formats import families, make
from tilesim.errors import InputError, ModelError
from tilesim.machines.host_steps import (
    KINDS,
    HostConstant,
    HostStep,
    HostValues,
    Setting,
    constants_of,
    is_portable,
    operator_of,
    settings_of,
)
from tilesim.machines.program import HostTensor
from tilesim.network.graph import Operator
from tilesim.network.operators import ArgMax, Gather, Quantise, TopK

INT8 = np.dtype(np.int8)


def step(
    operator: Operator, *reads: int, shape: tuple[int, ...] = (1, 4), dtype: str = "int8", **more: Any
) -> HostStep:
    kind, settings = type(operator).__name__.lower(), settings_of(operator)
    return HostStep("s", 0, kind, reads, 9, dtype, shape, 0, settings, **more)


def equal(one: Operator, other: Operator) -> bool:
    if type(one) is not type(other):
        return False
    return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items())


@pytest.mark.parametrize("family", families())
def test_operators_are_what_they_were(family: str, tmp_path: Path) -> None:
    """Those of random models of every family."""
    for seed in range(3):
        case = make(family, seed)
        path = tmp_path / f"m{case.suffix}"
        path.write_bytes(case.model)
        try:
            network = tilesim.load_network(path)
        except ModelError:
            continue
        for node in network.nodes:
            assert is_portable(node.operator)
            assert equal(node.operator, operator_of(step(node.operator)))


@pytest.mark.parametrize(
    ("operator", "texts"),
    [
        (TopK(3), ["3", "null"]),
        (TopK(3, np.dtype(np.int64)), ["3", "int64"]),
        (Quantise(0.1, -7, INT8, "away"), ["0.1", "-7", "int8", "away"]),
        (ArgMax(np.dtype(np.int32), keeps=True), ["int32", "true"]),
        (Gather(1, 0, (1, 0)), ["1", "0", "[1,0]"]),
    ],
)
def test_settings_are_read_easily(operator: Operator, texts: list[str]) -> None:
    assert [setting.value for setting in settings_of(operator)] == texts
    assert operator_of(step(operator)) == operator


def test_an_array_keeps_its_type_and_shape() -> None:
    entries = np.arange(6, dtype=np.uint8).reshape(2, 3)
    [_, setting] = settings_of(KINDS["table"]("f", entries))  # type: ignore[call-arg]
    assert setting.value == '{"dtype":"uint8","shape":[2,3],"values":[0,1,2,3,4,5]}'
    again = operator_of(HostStep("s", 0, "table", (), 1, "int8", (1,), 0, (Setting("function", "f"), setting)))
    np.testing.assert_array_equal(vars(again)["entries"], entries)
    assert vars(again)["entries"].dtype == np.uint8


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"operator": "sum"}, "operator must be one of a network's, not 'sum'"),
        ({"settings": (Setting("k", "1"), Setting("j", "1"))}, "settings must be those of topk, not 'j'"),
        ({"settings": ()}, "settings must be all of those that topk has"),
        ({"settings": (Setting("k", "one"),)}, "setting k must be of the type that topk has, not 'one'"),
        ({"settings": (Setting("k", "1.5"),)}, "setting k must be of the type that topk has, not '1.5'"),
        ({"settings": (Setting("k", "1"), Setting("places", "x"))}, "setting places must be of the type that topk"),
    ],
)
def test_what_is_no_operator_is_said(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        operator_of(replace(step(TopK(1)), **change))


def test_tensors_of_several_samples_keep_their_axes() -> None:
    """As an ONNX model has a map: channels before rows and columns."""
    tensor = HostTensor("x", 3, "int8", (1, 2, 3, 4), (0, 3, 1, 2), "i8")
    array = np.arange(48, dtype=np.int8).reshape(2, 2, 3, 4)
    values = HostValues(2, {})
    values.put(tensor, array)
    assert [each.shape for each in values.of(3)] == [(1, 3, 4, 2)] * 2
    np.testing.assert_array_equal(values.get(tensor), array)


def test_a_step_is_done_sample_by_sample() -> None:
    """And constants are the same for all."""
    places = np.array([2, 0], np.int32)
    constant = HostConstant("c", places.view(np.uint8), 5, "int32", (2,))
    values = HostValues(3, constants_of([constant]))
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    values.arrays[1] = [row[None] for row in x]
    values.make(step(Gather(1, 0, (1, 0)), 1, 5, shape=(1, 2)))
    np.testing.assert_array_equal(np.concatenate(values.of(9)), x[:, [2, 0]])


@pytest.mark.parametrize(
    ("operator", "more", "sentence"),
    [
        (ArgMax(INT8), {}, r"^s: must make int8 of \(1, 4\), as the program says, not int8 of \(1,\)$"),
        (Gather(3, 0, (1, 1)), {}, "^s: the host can't do gather with what it reads: "),
    ],
)
def test_what_can_not_be_done_is_said(operator: Operator, more: dict[str, Any], sentence: str) -> None:
    values = HostValues(1, {})
    values.arrays[1] = [np.zeros((1, 4), np.int8)]
    reads = (1, 1) if isinstance(operator, Gather) else (1,)
    with pytest.raises(InputError, match=sentence):
        values.make(step(operator, *reads, **more))


def test_a_foreign_operator_is_not_portable() -> None:
    class Gather:
        def evaluate(self, inputs: list[Any]) -> Any:
            return inputs[0]

    assert not is_portable(Gather())
    assert is_portable(TopK(1))

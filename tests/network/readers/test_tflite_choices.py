"""ARG_MAX and TOPK_V2: against cases worked by hand, and what of them is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.network.readers.test_tflite_operators import File
from tilesim.network.readers.builder import NetworkBuilder


def choice(kind: str, argument: Any, *outputs: tuple[tuple[int, ...], Any], **options: Any) -> File:
    """A choice among six elements, whose first output has their scale."""
    file = File(kind, options).input((1, 6), 0.5, 3).constant(argument)
    for shape, dtype in outputs:
        file.output(shape, 0.5, 3, dtype)
    return file


def arg_max(axis: Any = -1, dtype: Any = np.int32, code: int = 2) -> File:
    return choice("ARG_MAX", axis, ((1,), dtype), OutputType=code)


def top_k(k: Any = 4, dtype: Any = np.int8, places: Any = np.int32) -> File:
    count = int(np.ravel(k)[0])
    return choice("TOPK_V2", k, ((1, count), dtype), ((1, count), places))


def test_choices_by_hand() -> None:
    x = [3, 7, 7, -1, 7, 2]
    assert arg_max().run(x)[0].tolist() == [1]
    assert arg_max(1, np.int64, 4).run(x)[0].dtype == np.int64
    values, places = top_k().run(x)
    assert (values.tolist(), places.tolist()) == ([[7, 7, 7, 3]], [[1, 2, 4, 0]])


def test_of_a_choice_only_what_is_wanted_is_computed() -> None:
    file = top_k()
    network = replace(file.network(), outputs=(file.outputs[1],))
    assert [node.output for node in file.network().nodes] == file.outputs
    built = NetworkBuilder(dict(network.tensors), nodes=list(network.nodes))
    (node,) = built.network("net", network.inputs, network.outputs).nodes
    assert node.output == file.outputs[1]


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (arg_max(2), "its axis must be from -2 to 1, not 2"),
        (arg_max([1, 0]), "its axis must be one number, not 2"),
        (arg_max(code=4), "t2 must be int32 or int64, as its options say, not int32"),
        (arg_max(dtype=np.int8), "t2 must be int32 or int64, as its options say, not int8"),
        (top_k(7), "its k must be from 1 to 6, not 7"),
        (top_k([2, 2]), "its k must be one number, not 2"),
        (top_k(dtype=np.uint8), "t2 must have the type, scale and zero point of t0"),
        (top_k(places=np.int64), "t3 must be int32, not int64"),
        (choice("TOPK_V2", 2, ((1, 2), np.int8)), "must write 2 tensors, not 1"),
    ],
)
def test_a_choice_without_a_meaning_is_refused(file: File, fault: str) -> None:
    assert fault in file.faults()

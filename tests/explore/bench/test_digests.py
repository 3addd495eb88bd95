"""Digests tell apart what can differ, and nothing else, in any process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.explore.bench.digests import (
    PACKAGE,
    arrays_digest,
    digest,
    machine_digest,
    network_digest,
    sources,
    sources_digest,
)
from tilesim.network import operators
from tilesim.network.graph import Network, Tensor

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inside: st.tuples(inside, inside) | st.lists(inside, max_size=2) | st.dictionaries(st.text(), inside),
    max_leaves=6,
)


def _typed(value: object) -> object:
    """The value, with its types: Python takes 1 and True for the same."""
    if isinstance(value, tuple | list):
        return ("sequence", *map(_typed, value))
    if isinstance(value, dict):
        return ("mapping", *sorted((name, _typed(each)) for name, each in value.items()))
    return (type(value).__name__, repr(value))


@given(PLAIN, PLAIN)
def test_values_have_the_same_digest_if_they_are_the_same(one: object, other: object) -> None:
    assert (digest(one) == digest(other)) == (repr(_typed(one)) == repr(_typed(other)))


@given(st.dictionaries(st.text(), st.integers()))
def test_the_order_of_a_mapping_counts_for_nothing(values: dict[str, int]) -> None:
    assert digest(values) == digest(dict(reversed(values.items())))


def test_arrays_differ_by_dtype_shape_and_bytes() -> None:
    array = np.arange(6, dtype=np.int8)
    different = [array, array.astype(np.uint8), array.reshape(2, 3), array[::-1], np.append(array, np.int8(0))]
    digests = [arrays_digest([each]) for each in different]
    assert len(set(digests)) == len(different)
    assert arrays_digest([array[::-1][::-1]]) == digests[0], "not by how they lie in memory"
    assert arrays_digest([array, array]) != arrays_digest([np.concatenate([array, array])])


def test_what_has_no_value_of_its_own_has_no_digest() -> None:
    with pytest.raises(TypeError, match="a set has no digest"):
        digest({1, 2})


@dataclass(frozen=True)
class One:
    value: int


@dataclass(frozen=True)
class Other:
    value: int


def test_objects_differ_by_their_class() -> None:
    assert digest(One(1)) != digest(Other(1)) != digest({"value": 1})
    assert digest(One(1)) == digest(One(1)) != digest(One(2))


@pytest.mark.parametrize("workload", tilesim.list_workloads())
def test_every_part_of_a_network_counts(workload: str) -> None:
    network = tilesim.load_network(workload)
    before = network_digest(network)
    assert network_digest(tilesim.load_network(workload)) == before
    changed = [replace(network, name="other"), *_with_other_tensors(network), *_with_other_operators(network)]
    assert len({before, *map(network_digest, changed)}) == 1 + len(changed)


def test_every_operator_has_a_digest() -> None:
    """Their fields are all of kinds that have one."""
    tuples = r"tuple\[([a-z]+|Place|Affine)(, ([a-z.]+|Affine))*\]( \| None)?"
    kinds = re.compile(rf"int|float|bool|str|Padding|np\.dtype\[Any\]( \| None)?|NDArray\[.*\]|{tuples}")
    known = [each for each in vars(operators).values() if isinstance(each, type) and hasattr(each, "evaluate")]
    assert len(known) >= 19
    for operator in known:
        assert is_dataclass(operator), operator
        assert [field.name for field in fields(operator) if not kinds.fullmatch(str(field.type))] == [], operator


def _with_other_tensors(network: Network) -> Iterator[Network]:
    for index, tensor in network.tensors.items():
        others: list[Tensor] = [replace(tensor, name=f"{tensor.name}'")]
        if tensor.quantisation:
            known = tensor.quantisation
            others += [replace(tensor, quantisation=replace(known, zero_point=known.zero_point + 1))]
            others += [replace(tensor, quantisation=replace(known, scale=known.scale * 2))]
        if tensor.data is not None and tensor.data.size:
            data = tensor.data.copy()
            data.reshape(-1)[-1] ^= 1
            others += [replace(tensor, data=data)]
        for other in others:
            yield replace(network, tensors={**network.tensors, index: other})


def _with_other_operators(network: Network) -> Iterator[Network]:
    for place, node in enumerate(network.nodes):
        operator: Any = node.operator
        if is_dataclass(operator):
            names = [field.name for field in fields(operator) if isinstance(getattr(operator, field.name), int)]
            for name in names:
                other: Any = replace(operator, **{name: int(getattr(operator, name)) + 2})
                yield replace(network, nodes=_with(network.nodes, place, replace(node, operator=other)))
        yield replace(network, nodes=_with(network.nodes, place, replace(node, hints={"partition": "new"})))


def _with(items: tuple[Any, ...], place: int, item: object) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])


def test_sources_are_those_that_can_decide_a_result() -> None:
    """Whoever adds a folder to tilesim is in, unless it is known to decide nothing."""
    found = {path.as_posix() for path in sources(PACKAGE)}
    assert {
        "energy.json",
        "explore/bench/area.yaml",
        "explore/bench/measure.py",
        "tiled/units/chip.py",
    } <= found
    assert not any(path.startswith(("report/", "cli/", "guide/")) for path in found)
    assert not {"explore/rows/store.py", "explore/point.py", "explore/__init__.py"} & found
    assert found >= {path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "sim").rglob("*.py")}


def test_a_change_of_any_of_them_changes_the_digest_and_of_others_does_not(tmp_path: Path) -> None:
    package = tmp_path / "tilesim"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "_shipped", "guide"))
    found = [sources_digest.__wrapped__(package)]
    (package / "report" / "words.py").write_text("# nothing\n")
    (package / "explore" / "new.py").write_text("# nothing\n")
    assert [sources_digest.__wrapped__(package)] == found == [sources_digest()]
    for decisive in ("tiled/run/bottleneck.py", "energy.json", "explore/bench/measure.py", "api/running.py"):
        (package / decisive).write_bytes((package / decisive).read_bytes() + b"#\n")
        found.append(sources_digest.__wrapped__(package))
    (package / "sim" / "new.py").write_text("")
    assert len({*found, sources_digest.__wrapped__(package)}) == 6


def _in_process(expression: str, path: Path, seed: str) -> str:
    """What an expression says in a process that finds tilesim in a folder."""
    code = f"from tilesim.explore.bench.digests import *; import tilesim; print({expression})"
    environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONHASHSEED": seed}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, env=environment, cwd=path, capture_output=True, text=True, check=True).stdout.strip()


def test_they_are_the_same_in_every_process() -> None:
    expression = "network_digest(tilesim.load_network('digits')), digest({'a': 1, 'b': 'x', 'c': 0.1})"
    here = f"{network_digest(tilesim.load_network('digits'))} {digest({'c': 0.1, 'b': 'x', 'a': 1})}"
    assert _in_process(expression, PACKAGE.parent, "7") == here


def test_machines_from_outside_have_sources_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tilesim.MACHINES, "null", "tests.machines.null:Null")
    assert machine_digest("tiled") == machine_digest("systolic") == ""
    assert len(machine_digest("null")) == 64

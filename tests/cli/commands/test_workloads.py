"""``tilesim workloads``."""

from __future__ import annotations

from typing import Any

from tilesim.api import list_workloads
from tilesim.network.readers.yaml_layers import Workload


def test_every_workload_has_a_line(tilesim: Any) -> None:
    header, *lines = tilesim("workloads").stdout.splitlines()
    assert header.split() == ["name", "input", "layers", "MACs", "parameters"]
    assert {line.split()[0] for line in lines if not line.startswith(" ")} == set(list_workloads())


def test_every_key_of_a_network_is_there(tilesim: Any) -> None:
    shown = tilesim("workloads", "--keys").stdout
    kinds = {name for section in Workload.model_json_schema()["$defs"].values() for name in _kinds(section)}
    assert len(kinds) == 9
    assert {word for line in shown.splitlines() if line.startswith("kind: ") for word in line.split()} >= kinds
    keys = {name for section in Workload.model_json_schema()["$defs"].values() for name in section["properties"]}
    assert {line.split()[0] for line in shown.splitlines() if line} >= keys - {"kind"}
    assert [line for line in shown.splitlines() if line.startswith("filters ")] != []


def _kinds(section: dict[str, Any]) -> list[str]:
    kind = section["properties"].get("kind", {})
    return kind.get("enum") or [kind[word] for word in ("const",) if word in kind]

"""A design space in YAML says what the command line says, and what is wrong with it where it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilesim.errors import ConfigError, kept
from tilesim.explore.design.document import is_document, load_document
from tilesim.explore.design.space import axis, space

GOOD = """\
models: [pocket, digits]
chips: edge-2x2
vary:
  grid: [1x1, squares:2..3]
  tile.lanes: 2^5..2^6
  cache: [on, off]
  inferences: 1
set: {ring.queue: shared}
where:
  - grid.rows * tile.lanes <= 128
  - latency_us < 1000
minimise: [latency_us, area_mm2]
maximise: throughput_per_second
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sweep.yaml"


def faults(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_document(path)
    return [fault.removeprefix(f"{path}:") for fault in error.value.faults]


def test_it_says_what_the_command_line_says(path: Path) -> None:
    path.write_text(GOOD)
    document = load_document(path)
    axes = [axis("grid=1x1,2x2,3x3"), axis("tile.lanes=32,64"), axis("cache=on,off"), axis("inferences=1")]
    where = ["grid.rows * tile.lanes <= 128", "latency_us < 1000"]
    assert document.space() == space(["pocket", "digits"], ["edge-2x2"], axes, {"ring.queue": "shared"}, where)
    assert (document.minimise, document.maximise) == (("latency_us", "area_mm2"), ("throughput_per_second",))


def test_all_faults_at_once_with_their_places(path: Path) -> None:
    text = """\
models: []
chip: edge-2x2
vary:
  grid: [1x1, 2]
  cache: maybe
  tile.lanes: {a: 1}
  inferences:
set: {tile.lanes: [1, 2]}
where: ["1 +", cache]
minimise: latency
"""
    assert faults(path, text) == [
        "1:1: chips is missing",
        "1:9: models must have at least 1 entry, not 0",
        "2:1: unknown key 'chip'; did you mean 'chips'?",
        "4:9: vary grid: a grid must be ROWSxCOLUMNS, such as 2x4, or a series such as squares:1..8, not '2'",
        "5:10: vary cache: must be on or off, not 'maybe'",
        "6:15: vary tile.lanes: must be a list of values, or text such as 2^4..2^8",
        "7:14: vary inferences: must be a list of values, or text such as 2^4..2^8",
        "8:19: set tile.lanes: must be one value",
        "9:9: where.0 '1 +', character 4: must go on with a number, a name, text or a bracket, not end",
        "10:11: minimise must be a measure that is a number, not 'latency'; did you mean 'latency_us'?",
    ]


def test_what_the_chips_do_not_have_has_its_place_too(path: Path) -> None:
    text = """\
models: pocket
chips: [edge-2x2, none]
vary:
  tile.lane: 1..8
  schedule: lcm
set:
  tile.vector_byte: 4
where:
  - cache
  - grid.row < 3
"""
    found = faults(path, text)
    assert [fault.partition(" ")[0] for fault in found] == ["1:1:", "4:14:", "5:13:", "7:21:", "10:5:"]
    assert found[0].startswith("1:1: none: there is no such topology")
    assert found[1] == "4:14: vary.tile.lane: must be a key of edge-2x2, not 'tile.lane'; did you mean 'tile.lanes'?"
    assert found[4].endswith("not 'grid.row'; did you mean 'grid.rows'?")


def test_which_files_are_documents(path: Path, tmp_path: Path) -> None:
    path.write_text(GOOD)
    assert is_document(str(path))
    network = tmp_path / "network.yaml"
    network.write_text("name: n\ninput: {shape: [1]}\nlayers: []\n")
    assert not is_document(str(network))
    assert not is_document("pocket")
    assert not is_document(str(tmp_path / "none.yaml"))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=8), parts, max_size=3),
    max_leaves=5,
)
sections = st.dictionaries(st.sampled_from(["grid", "tile.lanes", "cache", "schedule", "", "machine", "x"]), anything)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"models": st.just("pocket") | anything, "chips": st.just(["edge-2x2", "systolic-4"]) | anything},
        optional={
            "vary": sections | anything,
            "set": sections | anything,
            **dict.fromkeys(("where", "minimise", "maximise"), st.lists(st.text(max_size=20)) | anything),
        },
    )
)
def test_any_document_is_a_space_or_sentences(path: Path, document: dict[str, object]) -> None:
    path.write_text(json.dumps(document))
    sentences: list[str] = []
    with kept(sentences):
        assert load_document(path).space().size > 0
    assert all(fault.startswith(f"{path}:") and fault.isprintable() for fault in sentences)

"""The keys of a network in YAML, in words."""

from __future__ import annotations

from tilesim.report.workload_keys import WorkloadKey, workload_keys

SECTIONS = {section.title: section for section in workload_keys()}


def key(section: str, name: str) -> WorkloadKey:
    [found] = (key for key in SECTIONS[section].keys if key.key == name)
    return found


def test_values_have_their_bounds_and_choices() -> None:
    assert key("the file", "seed").value == "a whole number from 0"
    assert key("input", "scale").value == "a number above 1e-12 below 1e+06"
    assert key("input", "shape").value == "a list of 2 to 4 numbers, each a whole number from 1 to 65,536"
    assert key("the file", "layers").value == "a list of 1 or more layers"
    assert key("kind: convolution", "kernel").value == "[rows, columns], each a whole number from 1 to 65,536"
    assert key("kind: convolution", "padding").value == "same, valid"


def test_a_key_has_a_default_or_must_be_given() -> None:
    assert key("kind: convolution", "filters").default == "must be given"
    assert key("kind: convolution", "strides").default == "[1, 1]"
    assert key("a layer of any kind", "partition").default == "none"


def test_what_every_layer_has_is_said_once() -> None:
    assert [title for title, section in SECTIONS.items() if any(key.key == "name" for key in section.keys)] == [
        "a layer of any kind"
    ]
    assert "kind: max_pool or average_pool" in SECTIONS
    assert all(key.meaning for section in SECTIONS.values() for key in section.keys)

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim
from tilesim.machines.host import random_inputs
from tilesim.report.analysis.stall_free import DEFINITIONS, rows

STATISTICS = {
    "chip": {"array": {"rows": 4, "columns": 2, "weights": "columns"}},
    "inferences": 3,
    "layers": [
        {"name": "pool", "matrix": None, "breakdown": {}},
        {
            "name": "conv",
            "matrix": {"vectors": 10, "inputs": 9, "outputs": 3, "groups": 1},
            "breakdown": {"useful MACs": 150, "unused MACs": 34, "weight stall": 5, "weight shift": 3, "other": 2},
        },
        {
            "name": "depthwise",
            "matrix": {"vectors": 10, "inputs": 9, "outputs": 1, "groups": 8},
            "breakdown": {"useful MACs": 10},
        },
    ],
}


def stall_free_cycles(vectors: int, inputs: int, outputs: int, rows: int, columns: int) -> int:
    """SCALE-Sim's count for ``vectors`` of ``inputs`` activations and ``outputs`` outputs on ``rows`` x ``columns``."""
    return -(-inputs // rows) * -(-outputs // columns) * (vectors + 2 * rows + columns - 2) - 1


@pytest.mark.parametrize(
    ("vectors", "inputs", "outputs", "size", "cycles"),
    [
        (56 * 56, 576, 64, 128, 17_589), (56 * 56, 576, 64, 32, 116_279), (56 * 56, 576, 64, 16, 458_207),
        (1, 2048, 1000, 128, 49_023), (1, 2048, 1000, 32, 194_559), (1, 2048, 1000, 16, 379_007),
    ],
)  # fmt: skip
def test_the_closed_form_is_what_was_measured(vectors: int, inputs: int, outputs: int, size: int, cycles: int) -> None:
    assert stall_free_cycles(vectors, inputs, outputs, size, size) == cycles


def test_parts_add_up_to_both_counts() -> None:
    [row] = rows(STATISTICS)
    assert (row.index, row.name, row.vectors, row.tiles, row.both) == (1, "conv", 30, 6, 180)
    assert row.stall_free == stall_free_cycles(30, 9, 3, 4, 2)
    assert (row.load, row.skew) == (24, 23)
    assert row.ours == sum(STATISTICS["layers"][1]["breakdown"].values())  # type: ignore[index]
    assert (row.more_vectors, row.weight_shift, row.weight_stall, row.waits) == (4, 3, 5, 2)


def test_weights_on_rows_swap_what_the_array_takes_and_gives() -> None:
    turned = {**STATISTICS, "chip": {"array": {"rows": 4, "columns": 2, "weights": "rows"}}}
    assert next(rows(turned)).tiles == 5


def test_other_machines_have_no_such_table() -> None:
    layers = [{"name": "conv", "breakdown": {"macs": 7}}]
    assert not list(rows({**STATISTICS, "layers": layers, "chip": {"array": {"units": 4096}}}))


def test_every_column_is_explained() -> None:
    columns = {"tiles", "both", "load", "skew", "more vectors", "weight shift", "weight stall", "waits"}
    assert columns <= set(DEFINITIONS)


def test_layers_of_a_real_model(models: Path) -> None:
    """Those of MobileNetV2 that are dense: either count is the sum of its parts, and what both count is alike."""
    network = tilesim.load_network(models / "coral_tf2_mnv2_ptq" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("systolic-128"))
    statistics = tilesim.simulate(program, random_inputs(program.inputs)).statistics
    found = list(rows(statistics))
    assert len(found) == 36
    for row in found:
        layer = statistics["layers"][row.index]
        assert row.ours == sum(layer["breakdown"].values()) == layer["cycles"]
        assert row.stall_free == stall_free_cycles(row.vectors, row.inputs, row.outputs, 128, 128)
        assert row.vectors * row.inputs * row.outputs == layer["macs"]
        assert row.more_vectors == 0

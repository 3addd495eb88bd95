from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from scripts.tflite_writer import Shared
from tilesim.errors import InputError, ModelError
from tilesim.network.readers import read, tflite, tflite_file, tflite_operators


def test_damaged_files_are_read_or_refused(models: Path, tmp_path: Path) -> None:
    """Truncated or with flipped bits: a sentence or a network that runs, never another exception."""
    source = (models / "mlperf_kws_dscnn" / "model.tflite").read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.tflite"
    faults: list[str] = []
    refused = 0
    for trial in range(200):
        data = bytearray(source)
        if trial % 4 == 0:
            data = data[: rng.integers(len(data))]
        for position in rng.integers(-20_000, 0, 3):  # where the tables are
            data[int(position) % max(1, len(data))] ^= 1 << int(rng.integers(8)) if data else 0
        path.write_bytes(data)
        try:
            network = read(path)
            network.evaluate([np.zeros(network.tensors[i].shape, network.tensors[i].dtype) for i in network.inputs])
        except ModelError as error:
            refused += 1
            faults += error.faults
    assert refused > 100
    assert all(fault.startswith(f"{path}: ") for fault in faults)


def test_unsupported_operators_are_all_named(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(tflite_operators.READERS, "DEPTHWISE_CONV_2D")
    with pytest.raises(ModelError) as caught:
        read(models / "mlperf_kws_dscnn" / "model.tflite")
    assert len(caught.value.faults) == 4
    assert "node 1 (DEPTHWISE_CONV_2D): the operator is not supported" in caught.value.faults[0]


def test_all_faults_at_once_but_none_that_follows_from_another(models: Path) -> None:
    graph = tflite_file.parse((models / "mlperf_kws_dscnn" / "model.tflite").read_bytes())
    ops, tensors = list(graph.operators), list(graph.tensors)
    ops[1] = replace(ops[1], kind="UNIQUE")
    ops[2] = replace(ops[2], options={**ops[2].options, "FusedActivationFunction": 9})
    ops[4] = replace(ops[4], inputs=(999, *ops[4].inputs[1:]))
    tensors[ops[6].inputs[1]] = replace(tensors[ops[6].inputs[1]], type_code=1, name="weights;fused")
    with pytest.raises(ModelError) as caught:
        tflite._network("kws", replace(graph, operators=tuple(ops), tensors=tuple(tensors)))
    assert [fault.split(", not ")[0] for fault in caught.value.faults] == [
        f"tensor {ops[6].inputs[1]} (weights;...): its type must be one of float32, int32, uint8, int64, int16, int8",
        "node 1 (UNIQUE): the operator is not supported",
        "node 2 (CONV_2D): its fused activation must be one of none, relu, relu_n1_to_1, relu6",
        "node 4 (CONV_2D): must read a tensor that is ready",
    ]


def test_files_that_are_no_models(tmp_path: Path) -> None:
    empty = tmp_path / "empty.tflite"
    empty.write_bytes(b"")
    with pytest.raises(ModelError, match="identifier TFL3"):
        read(empty)
    with pytest.raises(InputError, match=r"must end in one of \.tflite"):
        read(tmp_path / "model.pb")
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "absent.tflite")


MIB = 1 << 20


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (Shared(operators=60_000), "must have at most 16384 operators, not 60000"),
        (Shared(operators=16_000, reads=[0] * 6000), "its vectors must have at most 8388608 numbers in all"),
        (Shared(tensors=16_000, scales=6000), "its vectors must have at most 8388608 numbers in all"),
        (Shared(tensors=16_000, name="n" * 4000), "a name must have at most 4096 bytes, and all of them 16777216"),
        (Shared(tensors=16_000, name="n" * MIB), "a name must have at most 4096 bytes"),
        (
            Shared(300, shape=(1, MIB), data=bytes(MIB), reads=range(299), inputs=[299], outputs=[299]),
            "its operators must read at most 256 MiB of constants, not 299 MiB",
        ),
        (
            Shared(3, operators=0, data=b"data", inputs=[2], outputs=[1]),
            "output 1: must be an input, or made by a node",
        ),
        (Shared(inputs=[-1], reads=[-1]), "an input must be a tensor from 0 to 1, not -1"),
        (Shared(writes=[-1], outputs=[-1]), "must write tensors that nothing has written, not [-1]"),
        (Shared(3, operators=2, reads=[-1], writes=[-1], outputs=[-1]), "must read a tensor that is ready, not -1"),
        (Shared(3, reads=[0, 0, -1], kind=60), "must read a tensor that is ready, not -1"),
    ],
    ids=map(str, count()),
)
def test_what_is_shared_counts_as_often_as_it_is_named(file: Shared, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(file.written())
    assert path.stat().st_size < 2 * MIB
    with pytest.raises(ModelError) as caught:
        read(path)
    assert fault in str(caught.value)


def test_a_file_of_many_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ModelError, match=r"model\.tflite: must have at most 256 MiB, not 1024 GiB"):
        read(path)

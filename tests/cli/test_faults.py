"""Bad input: its sentences, exit status 2, and no file left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tilesim.api import list_topologies
from tilesim.cli.faults import in_options

CHIP = ("--topology", "edge-1x1")
DIGITS = ("run", "digits", *CHIP)

HUNG = """
.tasm 1
.program name=hung
.chip machine=tiled name=hung
.chip grid rows=1 columns=1
.load
.run
  tile_fence tiles=1 reset=ring_read_a,wide_to_narrow
forever: ring_consume tiles=1 write=[r:2 @0x0+r*256] produce=r
copy: wide_to_narrow tiles=1 read=[r:2 @0x0+r*256] write=[w:128 @0x0+w*4] wait=ring_read_a@r>=1+1 produce=r
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def faults(tilesim: Any, *words: object, status: int = 2) -> list[str]:
    """The sentences that a command ends with, having written nothing, or a run up to where it could not go on."""
    before = {*Path().rglob("*")}
    result = tilesim(*words, "--out", "new/folder")
    assert (result.exit_code, result.stdout) == (status, "")
    written = {path.name for path in {*Path().rglob("*")} - before}
    assert written == ({"new", "folder", "run.json", "program.tasm", "program.npz"} if status == 3 else set())
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: ")
    return [line.removeprefix("error: ") for line in lines]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("dgits", *CHIP), "dgits: there is no such workload; did you mean digits?"),
        (("none.onnx", *CHIP), "none.onnx: there is no such file"),
        (("./none.tflite", *CHIP), "none.tflite: there is no such file"),
        (("none.tasm",), "none.tasm: there is no such file"),
        (("model.pb", *CHIP), "model.pb: must end in one of .tflite, .onnx, .yaml, .yml, not '.pb'"),
        (("digits", "--set", "grid=1x1"), "--topology must name a chip; `tilesim topologies` lists them"),
        (("digits", "--topology", "egde-2x4"), "egde-2x4: there is no such topology; did you mean edge-2x4?"),
        (("digits", "--topology", "./none.yaml"), "none.yaml: there is no such file"),
        (
            ("digits", *CHIP, "--set", "grid.rows=3", "--set", "grid=2x2"),
            "--set grid=2x2: must come before --set grid.rows, which it would undo",
        ),
        ((*DIGITS[1:], "-n", "9" * 20), f"--inferences must be from 1 to 1,000, not {int('9' * 20):,}"),
        (("digits", *CHIP, "--set", "grid.rows"), "--set grid.rows: must be KEY=VALUE, such as grid.rows=2"),
        (("digits", *CHIP, "--inputs", "none.npz"), "none.npz: there is no such file"),
        (
            ("digits", "--topology", "edge-3x3"),
            (
                f"edge-3x3: there is no such topology; there are {', '.join(list_topologies())}; "
                "a file's name has a / or an ending; --set grid=RxC gives a chip another grid of tiles"
            ),
        ),
        (
            ("digits", *CHIP, "--set", "grid=2"),
            "--set grid=2: grid must be a section with keys, not 2; write rows and columns, such as 2x4",
        ),
    ],
)
def test_what_is_not_there(tilesim: Any, words: tuple[str, ...], sentence: str) -> None:
    assert faults(tilesim, "run", *words) == [sentence]


NOPE = "nope -t nope2 --set grid.rows --set a=1 --set a=2"
WRONG = "--hold x --trace-window 9 --trace-window 9 --partition p -n 0 --weight-reuse -1 --rules r --masters m"


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (
            f"run {NOPE} {WRONG} --inputs none.npy --energy none.yaml",
            ["--hold x", "--trace-window ", "--trace-window 9", "--partition p", "--inferences ", "--weight-reuse ",
             "--rules ", "--masters ", "none.npy: ", "none.yaml: "],
        ),
        (f"check {NOPE} --masters m --partition p", ["--masters ", "--partition p"]),
        (f"cache {NOPE} --partition p", ["--partition p"]),
        (f"verify {NOPE} --inputs none.npy --partition p", ["none.npy: ", "--partition p"]),
        (f"support {NOPE}", []),
        (f"batch {NOPE} --schedule s -n 0", ["--schedule ", "--inferences "]),
        (f"compile {NOPE} -o p.txt --partition p", ["p.txt: ", "--partition p"]),
    ],
)  # fmt: skip
def test_all_faults_of_a_command_line_at_once(tilesim: Any, words: str, more: list[str]) -> None:
    result = tilesim(*words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    expected = [*more, "nope: ", "nope2: ", "--set grid.rows", "--set a must be given once"]
    lines = result.stderr.splitlines()
    assert len(lines) == len(expected)
    assert [start for start in expected if not any(line.startswith(f"error: {start}") for line in lines)] == []


def test_all_that_a_machine_refuses_is_said_at_once(tilesim: Any) -> None:
    words = ("--no-cache", "--partition", "channel", "--masters", "single")
    cache, masters, partition = sorted(faults(tilesim, "run", "digits", "-t", "systolic-32", *words))
    assert cache.startswith("--no-cache applies to chips that can keep parameters in tiles")
    assert masters.startswith("--partition applies to chips that can spread layers")
    assert partition.startswith("systolic-32: --masters must be left out: ")


def test_what_is_no_plain_file_is_named(tilesim: Any) -> None:
    Path("folder.npz").mkdir()
    os.mkfifo("pipe.yaml")
    for words, sentence in (
        (("run", "/dev/null"), "/dev/null: must be a file, not a device"),
        (("run", "pipe.yaml"), "pipe.yaml: must be a file, not a pipe"),
        (("run", "pocket", "--inputs", "folder.npz"), "folder.npz: must be a file, not a folder"),
        (("run", ""), "a workload must be given by its name or file, not by nothing"),
    ):
        assert faults(tilesim, *words) == [sentence]


def test_names_and_a_missing_chip_are_said_at_once(tilesim: Any) -> None:
    missing = "--topology must name a chip; `tilesim topologies` lists them"
    first, *others = faults(tilesim, "run", "overlap", "none.onnx", "--set", "grid=1x1")
    assert first.startswith("overlap: there is no such workload; ")
    assert others == ["none.onnx: there is no such file", missing]


def test_every_unknown_key_is_said(tilesim: Any) -> None:
    assert faults(tilesim, *DIGITS, "--set", "tile.lanse=3", "--set", "gird.rows=2") == [
        "--set tile.lanse=3: unknown key 'tile.lanse'; did you mean 'tile.lanes'?",
        "--set gird.rows=2: unknown key 'gird'; did you mean 'grid'?",
    ]


def test_all_three_faults_of_a_topology(tilesim: Any) -> None:
    Path("chip.yaml").write_text("machine: tilde\nname: c\ntile: {lanes: 48}\nwide_memory:\n  size_bytes: huge\n")
    found = faults(tilesim, "run", "digits", "--topology", "chip.yaml")
    assert [fault.split(" must be")[0] for fault in found] == [
        "chip.yaml:1:10: machine",
        "chip.yaml:3:15: tile.lanes",
        "chip.yaml:5:15: wide_memory.size_bytes",
    ]


def test_a_truncated_model(tilesim: Any, models: Path) -> None:
    whole = (models / "mlperf_kws_dscnn" / "model.tflite").read_bytes()
    for kept in (0, 7, 100, len(whole) // 2, len(whole) - 5000):
        Path("cut.tflite").write_bytes(whole[:kept])
        assert all(fault.startswith("cut.tflite: ") for fault in faults(tilesim, "run", "cut.tflite", *CHIP))


def test_every_unknown_operator_is_named(tilesim: Any) -> None:
    nodes = [helper.make_node("Sin", ["x"], ["a"], "first"), helper.make_node("Erf", ["a"], ["y"], "second")]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    onnx.save_model(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:])), "odd.onnx")
    first, second = faults(tilesim, "run", "odd.onnx", *CHIP)
    assert "first" in first
    assert "Sin" in first
    assert "second" in second
    assert "Erf" in second


@pytest.mark.parametrize(
    ("arrays", "sentences"),
    [
        ({"in0": np.zeros((1, 1, 8, 9), np.float32)}, ["of shape 1 x 1 x 8 x 8"]),
        ({"in0": np.zeros((1, 1, 8, 8), np.int8)}, ["of dtype float32, not int8"]),
        ({"in0": np.full((1, 1, 8, 8), np.nan, np.float32)}, ["input 'in0' must hold numbers, not NaN"]),
        ({"in0": np.zeros((8, 8), np.float64)}, ["of dtype float32, not float64", "of shape 1 x 1 x 8 x 8"]),
        ({"in0": np.zeros((0, 1, 8, 8), np.float32)}, ["of shape 1 x 1 x 8 x 8"]),
        ({"x": np.zeros((1, 1, 8, 8), np.float32)}, ["must hold an array in0; it holds x"]),
        ({"in0": np.array([None])}, ["array 'in0' must be a plain .npy array: Object arrays cannot be loaded"]),
    ],
)
def test_inputs_that_do_not_fit(tilesim: Any, arrays: dict[str, Any], sentences: list[str]) -> None:
    np.savez("in.npz", **arrays)
    found = faults(tilesim, *DIGITS, "--inputs", "in.npz")
    assert len(found) == len(sentences)
    for fault, sentence in zip(found, sentences, strict=True):
        assert fault.startswith("in.npz: ")
        assert sentence in fault


@pytest.mark.parametrize("name", ["in.npz", "in.npy", "in.txt"])
@pytest.mark.parametrize("junk", [b"", b"PK\3\4junk", b"\x93NUMPY\x01\x00", b"\x80\x04K\x01."])
def test_inputs_that_are_no_arrays(tilesim: Any, name: str, junk: bytes) -> None:
    Path(name).write_bytes(junk)
    (fault,) = faults(tilesim, *DIGITS, "--inputs", name)
    assert fault.startswith(f"{name}: must ")


@pytest.mark.parametrize("name", ["in.npz", "in.npy"])
def test_inputs_of_many_gigabytes_are_not_read(tilesim: Any, name: str) -> None:
    with Path(name).open("wb") as file:
        file.truncate(1 << 40)
    (fault,) = faults(tilesim, *DIGITS, "--inputs", name)
    assert fault.startswith(f"{name}: its arrays must have at most ")


def test_more_samples_than_this_computer_has_memory_for(tilesim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("tilesim.sim.core.memory.mmap", full)
    (fault,) = faults(tilesim, *DIGITS)
    assert fault.startswith("this computer has not enough memory: a chip's memory of ")


def test_what_an_archive_with_junk_before_it_holds_is_said(tilesim: Any) -> None:
    np.savez("in.npz", x=np.zeros(1), y=np.zeros(1))
    Path("in.npz").write_bytes(b"junk" + Path("in.npz").read_bytes())
    assert faults(tilesim, *DIGITS, "--inputs", "in.npz") == ["in.npz: must hold an array in0; it holds x, y"]


@pytest.mark.parametrize(("machine", "sections"), [("tiled", 0), ("systolic", 0), ("rotating", 3)])
def test_of_endless_faults_a_hundred_are_told(tilesim: Any, machine: str, sections: int) -> None:
    """``sections``: those that a chip must have, and this one has not."""
    Path("p.tasm").write_text(f".tasm 1\n.chip machine={machine} name=chip\n" + "nonsense 1 2 3\n" * 5000)
    found = faults(tilesim, "run", "p.tasm")
    assert len(found) == 101
    assert found[-1] == f"and {901 + sections} more faults"  # reading ends after a thousand, and says so


def test_of_an_endless_fault_both_ends_are_told(tilesim: Any) -> None:
    Path("t.yaml").write_text(f"? {'k' * 4_000}\n: 1\nname: chip\n")
    fault = max(faults(tilesim, "run", "pocket", "-t", "t.yaml"), key=len)
    assert fault.startswith("t.yaml:1:3: unknown key 'kkkk")
    assert 1900 < len(fault) < 2100
    assert "kkk...k" in fault


def test_a_model_too_large_for_the_chip(tilesim: Any) -> None:
    (fault,) = faults(tilesim, *DIGITS, "--set", "narrow_memory.size_bytes=512")
    assert fault.startswith("digits: tensor stem.out_QuantizeLinear_Output must fit the narrow memory of edge-1x1: ")
    assert "512 B of 512 B are free" in fault
    (fault,) = faults(tilesim, *DIGITS, "--set", "wide_memory.size_bytes=4 KiB")
    assert "must fit the wide memory of edge-1x1: " in fault
    assert "of 4 KiB are free" in fault


def test_a_folder_that_cannot_be(tilesim: Any) -> None:
    Path("file").touch()
    for out, sentence in (
        ("file", "must be a folder"),
        ("file/inside", "the results cannot be written there: Not a directory"),
    ):
        result = tilesim(*DIGITS, "--out", out)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {out}: {sentence}")
    result = tilesim("compile", "digits", *CHIP, "-o", "file/p.tasm")
    assert (result.exit_code, "cannot be written there" in result.stderr) == (2, True)
    assert (
        tilesim("compile", "digits", *CHIP, "-o", "p.txt").stderr
        == "error: p.txt: the file of a program must end in .tasm or .tbin, not in .txt\n"
    )


def test_more_memory_than_there_is(tilesim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(*_: object, **__: object) -> None:
        raise MemoryError("unable to allocate 1 PiB")

    monkeypatch.setattr("tilesim.api.simulate", simulate)
    assert faults(tilesim, *DIGITS) == ["this computer has not enough memory: unable to allocate 1 PiB"]


def test_a_faulty_program_says_where(tilesim: Any) -> None:
    Path("p.tasm").write_text(HUNG.replace("ring_consume", "ring_consumer").replace("tiles=1 read", "tilse=1 read"))
    places = [fault.split(": ")[0] for fault in faults(tilesim, "run", "p.tasm")]
    assert places == ["p.tasm:9:10", "p.tasm:10:7", "p.tasm:10:22"]


def test_a_program_that_no_chip_could_run_is_named(tilesim: Any) -> None:
    Path("p.tasm").write_text(HUNG.replace("r:2 @0x0", "r:2 @0xffffff"))
    found = faults(tilesim, "run", "p.tasm")
    assert len(found) > 1
    assert all(fault.startswith("p.tasm: ") for fault in found)


def test_a_deadlock_says_who_waits_for_what(tilesim: Any) -> None:
    Path("hung.tasm").write_text(HUNG)
    lines = faults(tilesim, "run", "hung.tasm", status=3)
    assert lines[0].startswith("the run program hangs after ")
    assert any("tile0.ring_consumer in forever " in line for line in lines)
    assert any("tile0.wide_to_narrow in copy " in line and "flag ring_read_a to reach 1" in line for line in lines)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("override grid.rows=0: must be at least 1", "--set grid.rows=0: must be at least 1"),
        (
            "chip: partition must be left out: it has one unit",
            "chip: --partition, --loop-order and --no-bands must be left out: it has one unit",
        ),
        ("chip: batches must be left out: no", "chip: batches must be left out: no"),
        ("x: no such topology; the override grid=RxC gives a", "x: no such topology; --set grid=RxC gives a"),
        ("model.tflite: override must be a name", "model.tflite: override must be a name"),
    ],
)
def test_arguments_become_options(fault: str, said: str) -> None:
    assert in_options(fault) == said

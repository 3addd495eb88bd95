"""What is checked before a run, and how often."""

import pickle
import subprocess
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tilesim.assembly import files, seal
from tilesim.errors import ProgramError
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules import soundness
from tilesim.tiled.rules.soundness import unsound

RECEIVE = "in: ring_consume tiles=0x1 write=[r:2 @0x0+r*16] produce=r"
SEND = "send: infeed source=data rows=2 to=0x1"
MOVE = "move: wide_to_narrow tiles=0x1 read=[r:2 @0x0+r*16] write=[w:8 @0x0+w*4]"
FINE = f"{RECEIVE}\n{SEND}\n{MOVE} wait=ring_read_a>=1"


def test_addresses_mean_something_only_to_instructions_that_the_chip_can_run() -> None:
    wrong = program(f"{RECEIVE}\n{SEND}\n{MOVE}\nwide_to_narrow tiles=0x1 read=[r:2 @0x0+r*8] write=[w:8 @0x0+w*4]")
    assert all("multiple of 16 bytes" in sentence for sentence in unsound(wrong))
    assert [sentence for sentence in unsound(program(f"{RECEIVE}\n{SEND}\n{MOVE}")) if "nothing orders in" in sentence]
    assert unsound(program(FINE)) == []


def test_a_finding_belongs_to_one_program_and_is_made_once(tmp_path: Path) -> None:
    asked: list[Program] = []

    def count(made: Program) -> int:
        asked.append(made)
        return len(asked)

    first = program(FINE)
    assert [first.once(count), first.once(count)] == [1, 1]
    tilesim.save_program(first, tmp_path / "program.tbin")
    loaded = tilesim.load_program(tmp_path / "program.tbin")
    others = [replace(first, name="other"), copy(first), pickle.loads(pickle.dumps(first)), loaded]  # noqa: S301
    assert [other.once(count) for other in others] == [2, 3, 4, 5]
    assert first.once(count) == 1


def test_nothing_that_a_file_says_spares_it_the_checks(tmp_path: Path) -> None:
    bad = program(f"{RECEIVE}\n{SEND}\n{MOVE}")
    for name in ("program.tasm", "program.tbin"):
        tilesim.save_program(bad, tmp_path / name)
        loaded = tilesim.load_program(tmp_path / name)
        for _ in range(2):  # what was refused once is refused again
            with pytest.raises(ProgramError, match="nothing orders in"):
                tilesim.simulate(loaded, [])


def test_what_was_compiled_or_has_run_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x2"))
    written = program(FINE)
    tilesim.simulate(written, [])

    def refuse(_: Program) -> None:
        raise ProgramError(["checked again"])

    monkeypatch.setattr(soundness, "effects_of", refuse)
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in compiled.inputs]
    assert tilesim.simulate(compiled, inputs).cycles > 0
    assert tilesim.simulate(written, []).cycles > 0
    with pytest.raises(ProgramError, match="checked again"):
        tilesim.simulate(replace(written, name="other"), [])


def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on whoever looks at a program is told so."""

    def refuse(_: Program) -> None:
        raise ProgramError(["checked again"])

    monkeypatch.setattr(soundness, "effects_of", refuse)


def test_a_binary_program_that_was_proven_is_not_proven_again_when_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven, unknown = program(FINE), program(FINE)
    assert unsound(proven) == []
    for made, name in ((proven, "proven"), (unknown, "unknown")):
        tilesim.save_program(made, tmp_path / f"{name}.tbin")
    loaded = tilesim.load_program(tmp_path / "proven.tbin")
    tilesim.save_program(loaded, tmp_path / "again.tbin")
    assert (tmp_path / "again.tbin").read_bytes() == (tmp_path / "proven.tbin").read_bytes()
    refusing(monkeypatch)
    assert tilesim.simulate(loaded, []).cycles == tilesim.simulate(loaded, [], rules="observe").cycles > 0
    with pytest.raises(ProgramError, match="checked again"):
        tilesim.simulate(tilesim.load_program(tmp_path / "unknown.tbin"), [])
    with pytest.raises(ProgramError, match="checked again"):
        tilesim.simulate(replace(loaded, name="other"), [])
    with pytest.raises(ProgramError, match="checked again"):
        tilesim.check([loaded])


@pytest.mark.parametrize("spoiled", ["seal", "program", "rules"])
def test_what_was_changed_since_is_proven_anew(spoiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, made = tmp_path / "p.tbin", program(FINE)
    assert unsound(made) == []
    tilesim.save_program(made, path)
    content = path.read_bytes()
    if spoiled == "seal":
        path.write_bytes(content[:48] + bytes(32) + content[80:])
    if spoiled == "program":  # and its checksum put right
        bad = ASSEMBLY.binary.encode(program(f"{RECEIVE}\n{SEND}\n{MOVE}"), b"any")
        path.write_bytes(bad[:48] + content[48:80] + bad[80:])
    if spoiled == "rules":
        monkeypatch.setattr(files, "rules_of", lambda *_: b"newer")
    loaded = tilesim.load_program(path)
    if spoiled == "program":
        with pytest.raises(ProgramError, match="nothing orders in"):
            tilesim.simulate(loaded, [])
    refusing(monkeypatch)
    with pytest.raises(ProgramError, match="checked again"):
        tilesim.simulate(replace(loaded) if spoiled == "program" else loaded, [])


def test_words_about_a_program_change_nothing_of_that() -> None:
    made = program(FINE)
    assert not made.annotated(partition="auto").is_known_sound
    assert unsound(made) == []
    assert made.annotated(partition="auto").is_known_sound
    chosen = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"), partition="auto")
    assert chosen.is_known_sound


def test_a_changed_rule_voids_seals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules_of = seal.rules_of.__wrapped__
    monkeypatch.setattr(seal, "_HOUSE", tmp_path)
    (tmp_path / "rules").mkdir()
    assert rules_of("rules") == rules_of("rule.py") == b""
    (tmp_path / "rules" / "one.py").write_text("1")
    before = rules_of("rules")
    (tmp_path / "rules" / "two.py").write_text("")
    more = rules_of("rules")
    (tmp_path / "rules" / "one.py").write_text("2")
    assert len({before, more, rules_of("rules")}) == 3


PLAIN = frozenset({"", "budgets", "config", "errors", "files", "findings", "network", "printable", "tiled", "units"})
"""Words and readers, on which no verdict depends."""


def test_every_rule_is_among_those_that_a_seal_names() -> None:
    code = "import sys, tilesim.tiled.rules.soundness; print(*[n for n in sys.modules if n.split('.')[0] == 'tilesim'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    paths = {name.partition(".")[2].replace(".", "/") for name in done.stdout.split()}
    parts = [part.removesuffix(".py") for part in ASSEMBLY.rules]
    unnamed = {path for path in paths if not any(path == part or path.startswith(f"{part}/") for part in parts)}
    assert {path.split("/")[0] for path in unnamed} <= PLAIN
    assert {path for path in unnamed if path.startswith(("network", "tiled"))} <= {"network", "tiled"}

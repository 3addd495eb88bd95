"""README.md and the guide keep their word: every command in them runs, and prints what they show."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilesim
from tests.scripts import ROOT, script
from tests.tiled.dataflow.agreement import is_made
from tilesim.cli import COMMANDS
from tilesim.network.readers.onnx_choices import CHOICES
from tilesim.network.readers.onnx_dynamic import DYNAMIC
from tilesim.network.readers.onnx_moves import MOVES
from tilesim.network.readers.onnx_operators import ACTIVATIONS, INTEGER, REAL
from tilesim.network.readers.tflite_operators import READERS
from tilesim.rotating.isa.assembly import ASSEMBLY as ROTATING
from tilesim.systolic.isa.assembly import ASSEMBLY as SYSTOLIC
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.instructions import INSTRUCTIONS

GUIDE = ROOT / "tilesim" / "guide"
MADE = script("make_readme")
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in MADE.PAGES}
README, INDEX = PAGES["README.md"], PAGES["tilesim/guide/README.md"]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[[^]]+\]\(([^)\s]+)\)")
LONGEST = 250
"""Lines of a page."""


def page(name: str) -> str:
    return PAGES[f"tilesim/guide/{name}.md"]


@pytest.mark.parametrize(
    "name", [name for name, text in PAGES.items() if "```console" in text or "```python\n" in text]
)
def test_commands_print_what_the_page_shows(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """If only the output is new: ``scripts/make_readme.py`` brings all pages up to date."""
    if "needs=models" in PAGES[name]:
        request.getfixturevalue("models")
    assert lines(MADE.rewritten(PAGES[name], tmp_path)) == lines(PAGES[name])


def lines(text: str) -> list[str]:
    """But for who ran a program, where nothing compiles the core."""
    if is_made():
        return text.splitlines()
    return [line for line in text.splitlines() if line and not re.match(r"engine: |(.+: )?SimPy ran this, ", line)]


@pytest.mark.parametrize("name", script("make_guide").MADE)
def test_a_page_that_is_made_says_what_the_code_says(name: str) -> None:
    """If the code is right: ``scripts/make_guide.py`` brings these pages up to date."""
    assert script("make_guide").rewritten(name) == page(name)


def test_commands_that_leave_nothing_behind_are_run_once() -> None:
    """A page stands by itself, so it makes the files that it needs; other commands would only take time twice."""
    shown = (command for text in PAGES.values() for command in re.findall(r"^\$ (tilesim .*)", text, re.MULTILINE))
    commands = Counter(command for command in shown if not re.search(r" -o | --out | --store | seen|\.tasm", command))
    assert [command for command, count in commands.items() if count > 1] == []


def test_blocks_are_run_or_say_what_they_need() -> None:
    blocks = [(name, *block) for name, text in PAGES.items() for block in BLOCK.findall(text)]
    kinds = {kind for _, kind, _ in blocks}
    needs = {"console needs=models", "console needs=cluster", "python needs=tensorflow", "python needs=torch"}
    assert kinds == {"text", "sh", "console", "yaml", "python", *needs}
    assert {name for name, kind, _ in blocks if "needs=" in kind} == {
        "tilesim/guide/cluster.md",
        "tilesim/guide/quantise.md",
        "tilesim/guide/questions.md",
    }
    assert "not run by tests" in page("quantise")
    shell = [line.split("#")[0].split() for _, kind, body in blocks if kind == "sh" for line in body.splitlines()]
    assert shell == [["./scripts/run"], ["./scripts/test"], ["./scripts/bench", "--quick"]]


def test_pages_are_short_and_begin_with_their_title() -> None:
    assert len(README.splitlines()) <= 300
    assert "](.github/pictures/" in "".join(README.splitlines()[:25])
    lengths = {name: len(text.splitlines()) for name, text in PAGES.items() if name != "README.md"}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
    assert all(re.match(r"# \S.*\n\n", text) for text in PAGES.values())


def test_the_index_has_every_page_once() -> None:
    listed = re.findall(r"^- \[([\w-]+)\]\(([\w-]+)\.md\): \w", INDEX, re.MULTILINE)
    assert all(name == file for name, file in listed)
    assert sorted(name for name, _ in listed) == sorted(
        path.stem for path in GUIDE.glob("*.md") if path.stem != "README"
    )
    assert {f"tilesim/guide/{name}.md" for name, _ in listed} <= {target for _, target in LINK.findall(README)}


def test_links_lead_somewhere() -> None:
    lost = [(name, target) for name, text in PAGES.items() for target in links(text) if not leads(name, target)]
    assert lost == []
    assert not leads("README.md", "#nowhere")
    assert not leads("README.md", "tilesim/guide/nothing.md")
    assert not leads("tilesim/guide/run.md", "time.md#nowhere")


def links(text: str) -> Iterator[str]:
    """Where a page leads, other people's sites excepted."""
    return (target for _, target in LINK.findall(BLOCK.sub("", text)) if not target.startswith("https://"))


def leads(name: str, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (ROOT / name).parent / path if path else ROOT / name
    if not file.is_file():
        return False
    titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
    return not anchor or anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_files_to_change_exist() -> None:
    """Those of a new thing stand for their folder, which exists unless the thing brings it."""
    named = re.findall(r"`((?:tilesim|tests|scripts|topologies|workloads)/[^`]*)`", page("adding"))
    paths = [name.partition("NAME")[0] for name in named]
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_picture_is_made_by_a_command_of_the_guide() -> None:
    made = script("make_pictures")
    assert [words[1] for words in made.commands("trace.md")] == ["run", "report"]
    assert [words[1] for words in made.commands("batches.md")] == ["run", "run", "compare"]
    assert [words[1] for words in made.commands("questions.md")] == ["sweep", "sensitivity", "sweep"]
    assert [words[1] for words in made.commands("masters.md")] == ["masters"]
    shown = {
        ((ROOT / name).parent / target).resolve()
        for name, text in PAGES.items()
        for picture, target in LINK.findall(text)
        if picture
    }
    assert shown == set(made.PICTURES.iterdir())
    assert all(path.stat().st_size < 200_000 for path in shown)


def test_every_command_is_listed() -> None:
    listed = re.findall(r"^\| `tilesim (\w+(?: \w+)?)` \|", page("commands"), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_every_operator_is_listed() -> None:
    listed = page("operators").split("- Operators read from `.tflite`:")[1].split("- Another operator")[0]
    words = set(re.findall(r"\b[A-Z][A-Za-z0-9_]+\b", listed)) - {"Operators"}
    read = {*READERS, *ACTIVATIONS, *REAL, *INTEGER, *CHOICES, *DYNAMIC, *MOVES}
    assert words == {"QuantizeLinear", "DequantizeLinear", "Constant", "Shape", *read}


def test_every_directive_and_instruction_is_listed() -> None:
    tiled, systolic, rotating = re.split("## The (?:systolic|rotating) machine", page("assembly"))
    named = set(re.findall(r"`(\.?\w+)(?: 1)?`", tiled))
    assert named >= {kind.mnemonic for kind in INSTRUCTIONS}
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    assert named >= set(re.findall(r"^\.\w+", ASSEMBLY.write(program), re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", systolic)) >= set(SYSTOLIC.mnemonics)
    assert set(re.findall(r"`(\w+)`", rotating)) >= set(ROTATING.mnemonics)


def test_the_first_command() -> None:
    if not (ROOT / ".venv").is_dir() or Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        pytest.skip("these tests do not run in the .venv that scripts/setup makes")
    done = subprocess.run([ROOT / "scripts" / "run"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] in README

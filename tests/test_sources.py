"""The guide's page of sources: every paragraph is there, and every module and test that it names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.scripts import ROOT, script

PAGE = (ROOT / "tilesim" / "guide" / "sources.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^:\n]+):[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
NUMBERED = {"US 19/025,090": (82, 21), "US 2025/0265455": (80, 21)}
"""Documents whose paragraphs have numbers: how many of these, and of claims."""
CLAIMS = {"WO 2016/186801": 28, "JP 7561916 B2 = US 10,083,395": 19, "US 2018/0157962": 1}


def rows(section: str) -> Iterator[list[str]]:
    for line in SECTIONS[section].splitlines():
        cells = [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("| ") else []
        if cells and not {"modelled in"} & set(cells):
            assert len(cells) == 5, line
            yield cells


ROWS = [row for section in SECTIONS for row in rows(section)]


def numbers(cell: str, pattern: str = r"\[(\d{4})\](?:-\[(\d{4})\])?") -> Iterator[int]:
    for first, last in re.findall(pattern, cell):
        yield from range(int(first), int(last or first) + 1)


def claims(cell: str) -> Iterator[int]:
    for listed in re.findall(r"claims? ([\d, -]+)", cell):
        yield from numbers(listed, r"(\d+)(?:-(\d+))?")


def test_every_paragraph_and_claim_is_there_once() -> None:
    assert set(SECTIONS) == {*NUMBERED, *CLAIMS}
    for document, (paragraphs, _) in NUMBERED.items():
        assert sorted(n for row in rows(document) for n in numbers(row[0])) == list(range(1, paragraphs + 1))
    for document, count in {**CLAIMS, **{document: most for document, (_, most) in NUMBERED.items()}}.items():
        assert sorted(n for row in rows(document) for n in claims(row[0])) == list(range(1, count + 1))


def test_what_is_modelled_is_tested_and_the_rest_says_so() -> None:
    assert [row[0] for row in ROWS if bool(row[2]) != bool(row[3])] == []
    assert [row[0] for row in ROWS if not row[2] and not row[4].startswith("not modelled")] == []


def test_every_module_exists() -> None:
    modules = {name for row in ROWS for name in re.findall(r"`([\w.]+)`", row[2])}
    paths = {module: ROOT / "tilesim" / module.replace(".", "/") for module in modules}
    assert [name for name, path in paths.items() if not path.is_dir() and not path.with_suffix(".py").is_file()] == []


def test_every_test_exists() -> None:
    tests = {name for row in ROWS for name in re.findall(r"`([\w/:]+)`", row[3])}
    files = {
        path.relative_to(ROOT / "tests").with_suffix("").as_posix(): path for path in ROOT.glob("tests/**/test_*.py")
    }
    assert sorted(name for name in tests if not has_test(files.get(name.split("::")[0]), name.split("::")[1])) == []


def has_test(file: Path | None, name: str) -> bool:
    return file is not None and f"def test_{name}(" in file.read_text(encoding="utf-8")


def test_files_to_see_exist() -> None:
    files = [name for row in ROWS for name in re.findall(r"`((?:topologies|workloads)/[^`]+)`", row[4])]
    assert files != []
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_every_paragraph_that_the_code_cites_is_listed_with_its_module() -> None:
    """Of a range of paragraphs one must name the module."""
    listed = {(document, n): row[2] for document in NUMBERED for row in rows(document) for n in numbers(row[0])}
    missing = [
        (remark.module, document, paragraphs)
        for remark in script("make_guide").remarks()
        for document, paragraphs in cited("; ".join(remark.basis))
        if not any(names(listed[document, n], remark.module) for n in numbers(paragraphs))
    ]
    assert missing == []


def names(cell: str, module: str) -> bool:
    """Whether a cell names the module or a folder that it is in."""
    return any(f"{module}.".startswith(f"{name}.") for name in re.findall(r"`([\w.]+)`", cell))


def cited(basis: str) -> Iterator[tuple[str, str]]:
    """Each paragraph or range that a basis such as ``US 19/025,090 [0049]-[0051], [0064]`` cites of a document."""
    parts = re.split(rf"({'|'.join(map(re.escape, NUMBERED))})", basis)
    for document, text in zip(parts[1::2], parts[2::2], strict=True):
        yield from ((document, paragraphs) for paragraphs in re.findall(r"\[\d{4}\](?:-\[\d{4}\])?", text))

"""How large the package is, and what its functions and classes are like: ``scripts/size.py [FOLDER]``."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
LONG_MODULE_LINES = 400


@dataclass(frozen=True)
class Module:
    """One source file: its lines, and the lines of each of its functions."""

    name: str
    lines: int
    classes: tuple[str, ...]
    functions: tuple[int, ...]


def modules(folder: Path) -> Iterator[Module]:
    """All modules below ``folder``."""
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        nodes = [*ast.walk(ast.parse(source))]
        yield Module(
            str(path.relative_to(folder)),
            len(source.splitlines()),
            tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
            tuple(
                (node.end_lineno or node.lineno) - node.lineno + 1
                for node in nodes
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            ),
        )


def report(folder: Path) -> Iterator[str]:
    """The sizes, a line each."""
    house = [*modules(folder)]
    lengths = sorted(length for module in house for length in module.functions)
    names = Counter(name for module in house for name in module.classes)
    twice = sorted(f"{name} x{count}" for name, count in names.items() if count > 1)
    long = sorted(module.name for module in house if module.lines > LONG_MODULE_LINES)
    yield f"{sum(module.lines for module in house):,} lines in {len(house)} modules, {names.total()} classes"
    p90 = quantiles(lengths, n=10)[-1]
    yield f"functions: {len(lengths):,}; median {median(lengths):g} lines, p90 {p90:g}, most {lengths[-1]}"
    yield f"modules above {LONG_MODULE_LINES} lines: {', '.join(long) or 'none'}"
    yield f"class names that stand more than once: {len(twice)}: {', '.join(twice)}"
    for part, lines in sorted(_by_folder(house).items()):
        yield f"{lines:>7,}  {part}"


def _by_folder(house: list[Module]) -> Counter[str]:
    lines: Counter[str] = Counter()
    for module in house:
        lines[module.name.partition("/")[0]] += module.lines
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(report(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tilesim")) + "\n")

"""Where a line of the core may be changed by one token, or lose what it does."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

TOKENS = (
    ("+ 1", "+ 2"),
    ("+ 1", "+ 0"),
    ("- 1", "- 2"),
    ("- 1", "- 0"),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
    ("BUSY", "IDLE"),
    ("FLAG", "FIFO"),
    ("FIFO", "FLAG"),
    ("CREDIT", "PORT"),
    ("PORT", "CREDIT"),
    ("HAZARD", "FIFO"),
    ("TRAVERSAL", "FLAG"),
    ("HOST", "FIFO"),
    ("HOLD", "FIFO"),
)
"""What becomes what: a cycle more or less, a bound moved, a condition turned round, cycles on a wrong account."""
OTHER = r"return|break|const|case|default|goto|static|else|typedef|\w+ \*?\w+ =|\w+ \*?\w+(, \w+)*;"
EFFECT = re.compile(rf"\s+(?=\S)(?!{OTHER})[^{{}}]+;$")
"""A line that is a statement as a whole."""
FREES = re.compile(r"\b(fifo_)?free\(")
"""What is only seen by who counts memory."""
COMMENT = re.compile(r"/\*.*?\*/|^\s*/\*.*|^   .*\*/$")


class Mutant(NamedTuple):
    """A line of a file by its place, what it becomes, and how many of its kind there are up to it."""

    file: str
    line: int
    old: str
    new: str
    nth: int = 1

    def __str__(self) -> str:
        nth = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.file}: {self.old.strip()} -> {self.new.strip()}{nth}"

    def written(self, folder: Path) -> None:
        """Change the copy of the file in a folder in there."""
        [path] = folder.glob(f"*/{self.file}")
        lines = path.read_text(encoding="utf-8").split("\n")
        assert lines[self.line] == self.old
        lines[self.line] = self.new
        path.write_text("\n".join(lines), encoding="utf-8")


def mutants(sources: Sequence[Path]) -> list[Mutant]:
    """All that there are of files in C, in an order that is drawn: a line that comes, goes or changes moves no other
    one.
    """
    drawn: list[Mutant] = []
    seen = Counter[str]()
    for path in sources:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")):
            for new in _changed(line):
                mutant = Mutant(path.name, number, line, new)
                seen[str(mutant)] += 1
                drawn.append(mutant._replace(nth=seen[str(mutant)]))
    return sorted(drawn, key=lambda mutant: sha256(str(mutant).encode()).digest())


def _changed(line: str) -> Iterator[str]:
    if not line.startswith(" ") or COMMENT.search(line) or FREES.search(line):
        return  # signatures, directives, comments as well
    for old, new in TOKENS:
        for found in re.finditer(re.escape(old) + r"(?![\w.])" if old[-1] != " " else re.escape(old), line):
            if not re.match(r"\w", line[max(found.start() - 1, 0)]) or not old[0].isalpha():
                yield line[: found.start()] + new + line[found.end() :]
    if EFFECT.fullmatch(line):
        yield re.match(r"\s+", line)[0] + ";"  # type: ignore[index]

"""Prints the part of requirements.lock that the project needs with some of its extras, for pip to compare hashes with.

Usage: locked.py [EXTRA,EXTRA...]. The lock says of each package whose it is (``# via rich, typer``).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_ENTRY = re.compile(r"^[A-Za-z0-9].*(?:\n[ ].*)*", re.MULTILINE)
_WHOSE = re.compile(r"# via (.*)")


def locked(project: str, lock: str, extras: list[str]) -> Iterator[str]:
    """The entries of the text ``lock`` that the pyproject.toml ``project`` needs, in their order.

    Raises:
        KeyError: there is no such extra.
    """
    wanted = set(needed(project, extras))
    entries = {_name(entry): entry for entry in _ENTRY.findall(lock)}
    whose = {name: {_name(word) for word in _words(entry)} for name, entry in entries.items()}
    while more := {name for name in entries.keys() - wanted if whose[name] & wanted}:
        wanted |= more
    return (entry for name, entry in entries.items() if name in wanted)


def needed(project: str, extras: list[str]) -> Iterator[str]:
    """The names of the packages that the project itself asks for."""
    found = tomllib.loads(project)
    lists = [found["project"]["dependencies"], found["dependency-groups"]["setup"]]
    for requirements in [*lists, *(found["project"]["optional-dependencies"][extra] for extra in extras)]:
        yield from map(_name, requirements)


def _words(entry: str) -> list[str]:
    """Whose requirement an entry is; the project's own stand in pyproject.toml."""
    whose = _WHOSE.search(entry)
    return [word for word in (whose[1] if whose else "").split(", ") if _NAME.fullmatch(word)]


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def main(extras: list[str]) -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "requirements.lock")]
    try:
        print("\n".join(locked(texts[0], texts[1], extras)))
    except KeyError as error:
        sys.exit(f"locked.py: there is no extra {error}")


if __name__ == "__main__":
    main([word for word in "".join(sys.argv[1:]).split(",") if word])

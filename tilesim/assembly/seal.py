"""A seal on the file of a program: whoever wrote it had proven what it holds, by the very rules that read it now.

It is the SHA-256 of what the file holds, chip included, and of the sources of the rules; the reader works it out
itself. So a file that was edited or damaged, a program that nobody has proven, and one that was proven by other rules
are all proven anew. It keeps honest people from proving twice, and nobody from lying: who works out a seal for a
program that he has not proven can do so, and fools those who run his file.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

SEAL_BYTES = 32
_HOUSE = Path(__file__).parents[1]


def seal_of(content_digest: bytes, rules: bytes) -> bytes:
    """That of a file with what ``content_digest`` is of, proven by ``rules``."""
    return hashlib.sha256(b"proven " + rules + content_digest).digest()


@cache
def rules_of(*parts: str) -> bytes:
    """A digest of the sources of some modules and packages of tilesim, by their paths in it: what rules are, and what
    they are told of programs; nothing if the sources are not there, and then nothing is sealed.
    """
    digest = hashlib.sha256()
    for part in parts:
        path = _HOUSE / part
        sources = [path] if path.suffix else sorted(path.rglob("*.py"))
        if not sources or not all(source.is_file() for source in sources):
            return b""
        for source in sources:
            content = source.read_bytes()
            digest.update(f"{source.relative_to(_HOUSE).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.digest()

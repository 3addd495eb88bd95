"""What is wrong with how a command ended."""

from __future__ import annotations

import json
import re
import signal
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from scripts.fuzzing.case import Case
from scripts.fuzzing.process import MOST_BYTES, MOST_SECONDS, Ended

STATUSES = range(4)
WRITES = {0, 3}
"""Those with which there may be what was asked for: a run that can't go on is saved up to where it stood."""
MOST_ERROR_LINES = 200
MOST_ERROR_BYTES = 200_000
NOISE = re.compile(rb"Traceback|Warning:|Exception ignored|Error in sys\.|^[A-Za-z.]+Error:", re.MULTILINE)
OUT_OF_MEMORY = re.compile(rb"has not enough memory: (?!a chip's memory)")
"""A chip's own memory takes addresses alone, as long as nobody writes there."""
UNWANTED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of what steers a terminal or a reader's eye, and of halves of characters."""

Listing = dict[str, str]


def listing(folder: Path) -> Listing:
    """Everything below a folder, with a hash of its content."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in folder.rglob("*")
    }


def faults(case: Case, ended: Ended, before: Listing, after: Listing, temporary: Listing) -> list[str]:
    """Sentences, none if all is well; ``before`` and ``after`` are what lay in the case's folder."""
    sentences = [*_endings(ended), *_limits(ended), *_words(ended), *_left(case, ended, before, after)]
    if temporary:
        sentences.append(f"left {min(temporary)!r} in the folder for temporary files")
    documents = ended.stdout.splitlines() if "watch" in case.words else [ended.stdout]
    if ended.status in {0, 1} and "--json" in case.words and not all(map(_is_json, documents)):
        sentences.append("what --json printed is not JSON")
    return sentences


def _endings(ended: Ended) -> Iterator[str]:
    if ended.status not in STATUSES:
        yield f"ended with {_named(ended.status)}"
    if noise := NOISE.search(ended.stderr) or NOISE.search(ended.stdout):
        yield f"printed {noise[0].decode()!r}: {_last_line(ended.stderr)}"
    if ended.status in {0, 1} and ended.stderr:
        yield f"ended with {ended.status} and wrote to stderr: {_last_line(ended.stderr)}"
    if ended.status in {2, 3} and not ended.stderr.strip():
        yield f"ended with {ended.status} without a word"
    if ended.status == 1 and not ended.stdout.strip():
        yield "ended with 1 without a word"


def _named(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name


def _limits(ended: Ended) -> Iterator[str]:
    if ended.seconds > MOST_SECONDS:
        yield f"took {ended.seconds:.0f} s of the processor"
    if ended.resident_bytes > MOST_BYTES:
        yield f"took {ended.resident_bytes >> 20} MiB"
    if OUT_OF_MEMORY.search(ended.stderr):
        yield f"asked for more memory than the fuzzer gives: {_last_line(ended.stderr)}"


def _words(ended: Ended) -> Iterator[str]:
    for name, stream in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        text = stream.decode("utf-8", "surrogateescape")
        if unwanted := {character for character in text if unicodedata.category(character) in UNWANTED} - {"\n"}:
            yield f"{name} has {', '.join(map(ascii, sorted(unwanted)[:4]))}"
    lines = ended.stderr.decode("utf-8", "replace").splitlines()
    if len(lines) > MOST_ERROR_LINES or len(ended.stderr) > MOST_ERROR_BYTES:
        yield f"wrote {len(lines)} lines, {len(ended.stderr)} bytes, to stderr"
    if ended.status == 2:
        yield from _unsaid(lines)


def _unsaid(lines: list[str]) -> Iterator[str]:
    """Bad input is said in lines that each begin as an error does; where there are no words at all, by the help."""
    if lines[:1] == ["Usage: tilesim [OPTIONS] COMMAND [ARGS]..."]:
        return
    for line in lines:
        if not re.match(r"error: |and [\d,]+ more", line):
            yield f"a line of errors begins otherwise: {line[:100]!r}"
            return


def _left(case: Case, ended: Ended, before: Listing, after: Listing) -> Iterator[str]:
    for name in sorted(before):
        if before[name] != after.get(name) and not (_writes(case, ended) and _may_write(case, name)):
            yield f"changed {name!r}"
    for name in sorted(after.keys() - before.keys()):
        if not _writes(case, ended) or ".saving-" in name or not _may_write(case, name):
            yield f"left {name!r}"


def _writes(case: Case, ended: Ended) -> bool:
    """Whether something may be left: of several chips those that the network fits leave their runs."""
    return ended.status in WRITES or (ended.status == 2 and b"does not fit" in ended.stdout and "-t" in case.words)


def _may_write(case: Case, name: str) -> bool:
    return any(name == made or name.startswith(f"{made}/") or made.startswith(f"{name}/") for made in case.made)


def _is_json(text: bytes) -> bool:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "backslashreplace").strip().splitlines()
    return ascii(lines[-1])[1:-1][:200] if lines else ""

"""Bring what README.md and the pages of the guide show up to date: each command is run, and its output put below it.

A block of the kind ``console`` holds commands after ``$`` and their output; one of the kind ``python`` is a script; one
of the kind ``yaml`` is the file that its first line names (``# my-chip.yaml``). Those of a page run from top to bottom
in a folder of their own with ``workloads/`` and ``topologies/``, as in a terminal of 80 columns; ``tilesim`` is the one
of ``scripts/warm.py``, which starts sooner. Those of the kind
``console needs=models`` find other people's models in ``models/``: the folder that ``TILESIM_MODELS`` names, or
``../shared/models`` beside the project; where there is none, they are left alone. So are blocks of other kinds, and
those that say what else they need (``python needs=tensorflow``).

Arguments name the pages; without any, all are brought up to date.
"""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "tilesim" / "guide"
PAGES = (ROOT / "README.md", *sorted(GUIDE.glob("*.md")))
WARM = ROOT / "scripts" / "warm.py"
MODELS = Path(os.environ.get("TILESIM_MODELS") or ROOT.parent / "shared" / "models")
BLOCK = re.compile(r"^```(console|console needs=models|python|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rewritten(text: str, folder: Path) -> str:
    """``text`` with the output of every command as it is today; commands run in ``folder``, which is made ready.

    Raises:
        subprocess.CalledProcessError: a script fails.
    """
    for name, place in (("workloads", ROOT / "workloads"), ("topologies", ROOT / "topologies"), ("models", MODELS)):
        (folder / name).symlink_to(place)
    program = folder / "tilesim"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{WARM}" "{_served()}" "$@"\n')
    program.chmod(0o755)
    return BLOCK.sub(lambda block: f"```{block[1]}\n{_body(block[1], block[2], folder)}```", text)


@cache
def _served() -> Path:
    """A socket at which a process takes commands that has tilesim loaded; both go when this process does."""
    folder = TemporaryDirectory()
    path = Path(folder.name) / "socket"
    command = [sys.executable, str(WARM), "--serve", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)  # noqa: S603

    def end() -> None:
        with server, folder:
            server.kill()

    atexit.register(end)
    assert server.stdout is not None
    server.stdout.readline()
    return path


def _body(kind: str, body: str, folder: Path) -> str:
    if kind == "yaml":
        (folder / body.split()[1]).write_text(body)
    elif kind == "python":
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", body], cwd=folder, env=environment, check=True)  # noqa: S603  (our own page)
    elif kind == "console" or MODELS.is_dir():
        return "\n".join(_shown(command, folder) for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE)) + "\n"
    return body


def _shown(command: str, folder: Path) -> str:
    """A command and what it prints."""
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "80"}
    shell = ["/bin/sh", "-c", f"exec 2>&1; {command}"]
    done = subprocess.run(shell, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    return "\n".join([f"$ {command}", *(line.rstrip() for line in done.stdout.splitlines())])


def main(words: Sequence[str]) -> None:
    """Rewrite the pages that ``words`` name by their files."""
    for page in PAGES:
        if not words or page.stem in {Path(word).stem for word in words}:
            with TemporaryDirectory() as folder:
                page.write_text(rewritten(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

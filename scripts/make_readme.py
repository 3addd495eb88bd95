"""Bring what README.md shows up to date: each command in it is run, and its output put below it.

A block of the kind ``console`` holds commands after ``$`` and their output; one of the kind ``python`` is a script; one
of the kind ``yaml`` is the file that its first line names (``# my-chip.yaml``). They run from top to bottom in a folder
with ``workloads/`` and ``topologies/``, as in a terminal of 80 columns. Blocks of other kinds are left alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(console|python|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rewritten(text: str, folder: Path) -> str:
    """``text`` with the output of every command as it is today; commands run in ``folder``, which is made ready.

    Raises:
        subprocess.CalledProcessError: a script fails.
    """
    for name in ("workloads", "topologies"):
        (folder / name).symlink_to(ROOT / name)
    program = folder / "tilesim"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tilesim "$@"\n')
    program.chmod(0o755)
    return BLOCK.sub(lambda block: f"```{block[1]}\n{_body(block[1], block[2], folder)}```", text)


def _body(kind: str, body: str, folder: Path) -> str:
    if kind == "yaml":
        (folder / body.split()[1]).write_text(body)
    elif kind == "python":
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", body], cwd=folder, env=environment, check=True)  # noqa: S603  (our own README)
    else:
        return "\n".join(_shown(command, folder) for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE)) + "\n"
    return body


def _shown(command: str, folder: Path) -> str:
    """A command and what it prints."""
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "80"}
    shell = ["/bin/sh", "-c", f"exec 2>&1; {command}"]
    done = subprocess.run(shell, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    return "\n".join([f"$ {command}", *(line.rstrip() for line in done.stdout.splitlines())])


def main() -> None:
    """Rewrite README.md."""
    with TemporaryDirectory() as folder:
        README.write_text(rewritten(README.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()

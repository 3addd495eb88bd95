"""A ``tilesim`` that has everything loaded is as one that has not: streams, folder, variables, exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts import ROOT, script

MADE = script("make_readme")


def said(command: str, folder: Path, program: str) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of a line in which ``$T`` is the program."""
    shell = ["/bin/sh", "-c", f"T='{program}'; {command}"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "COLUMNS": "60"}
    done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("$T topologies edge-1x1", 0),
        ("$T topologies nothing", 2),
        ("$T run pocket -t pocket-2x1 --out made; ls made", 0),
        ("COLUMNS=100 $T topologies | head -3", 0),
        ("$T check workload.tasm 2>&1", 2),
        ("$T run nothing -t edge-1x1 2>/dev/full", 2),
        ("$T workloads | $T topologies", 0),
    ],
)
def test_it_is_the_ordinary_one(command: str, status: int, tmp_path: Path) -> None:
    warm, ordinary = tmp_path / "warm", tmp_path / "ordinary"
    for folder in (warm, ordinary):
        folder.mkdir()
    served = f"{sys.executable} -I -S {MADE.WARM} {MADE._served()}"
    found = said(command, warm, served)
    assert found == said(command, ordinary, f"{sys.executable} -m tilesim")
    assert found[0] == status


def test_where_nobody_serves_it_is_the_ordinary_one(tmp_path: Path) -> None:
    command = f"{sys.executable} -I -S {MADE.WARM} {tmp_path / 'socket'}"
    assert said("$T topologies nothing", tmp_path, command)[0] == 2

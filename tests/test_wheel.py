"""What a user gets from pip: an ordinary install carries the chips and workloads."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("topologies", "workloads")
LIST = """
import sys
sys.path.insert(0, sys.argv[1])
from tilesim.shipped import shipped
print(*(path.name for kind in sys.argv[2:] for path in shipped(kind).iterdir()))
"""


def pip(*arguments: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_wheel_has_everything(tmp_path: Path) -> None:
    pip("wheel", "-q", "--no-deps", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("tilesim-*.whl")
    assert "tilesim/config.py" in zipfile.ZipFile(wheel).namelist()

    site = tmp_path / "site"
    pip("install", "-q", "--no-deps", "--no-index", "--target", site, wheel)
    # -P keeps the working folder, and with it the checkout, off the path; the target comes first.
    command = [sys.executable, "-P", "-c", LIST, str(site), *KINDS]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    wanted = {path.name for kind in KINDS for path in (ROOT / kind).iterdir()}
    assert set(listed) == wanted >= {"digits.onnx", "digits.npz"}

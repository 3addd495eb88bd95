"""Make the pictures that README.md and the guide show, by the commands that the guide names, and a browser.

Those of ``questions.md`` take other people's models, as ``scripts/make_readme.py`` says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "tilesim" / "guide"
PICTURES = ROOT / ".github" / "pictures"
MODELS = Path(os.environ.get("TILESIM_MODELS") or ROOT.parent / "shared" / "models")
SHOWN = re.compile(
    r"^\$ (tilesim (?:run \S+ .*--out|report|compare|sweep .*--report|sensitivity|masters .*--png) [^|\n]*)",
    re.MULTILINE,
)
"""The commands of a page that pictures come from."""
PAGES = ("trace.md", "gallery.md", "batches.md", "questions.md", "masters.md")
REFUTED = 1
"""The exit status of a command whose answer is no."""
SECTIONS = (
    ("knee.html", "explore_scaling", "sweep-scaling"),
    ("knee.html", "explore_losses", "sweep-losses"),
    ("sensitivity.html", "sensitivity", "sensitivity"),
    ("smallest.html", "explore_pareto", "sweep-pareto"),
)
"""Of pages of the guide's questions: the page, its section, and the picture of it."""
FIGURES = ("timeline", "roofline", "layers", "stalls")
"""Those of the gallery."""
SIZE = {"width": 1100, "height": 1000}
MARGIN = 12
"""Pixels around a section."""


def commands(page: str) -> list[list[str]]:
    """The words of a page's commands that make runs and pictures of them."""
    return [shlex.split(line) for line in SHOWN.findall((GUIDE / page).read_text(encoding="utf-8"))]


def make(folder: Path) -> None:
    """Run the commands in ``folder``, and put the pictures of the run that they made where the pages look for them.

    Raises:
        subprocess.CalledProcessError: a command fails.
    """
    (folder / "models").symlink_to(MODELS)
    for words in (words for page in PAGES for words in commands(page)):
        program = [sys.executable, "-m", "tilesim", *words[1:]]
        done = subprocess.run(program, cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=False)  # noqa: S603  (our own)
        if done.returncode > REFUTED:
            done.check_returncode()
    [page] = folder.glob("*/report.html")
    [schedules] = folder.glob("runs/*/compare-batching.png")
    PICTURES.mkdir(parents=True, exist_ok=True)
    _keep(page.parent / "figures" / "contention.png", "contention")
    _keep(schedules, schedules.stem)
    for name in FIGURES:
        _keep(folder / "figures" / f"{name}.png", f"figure-{name}")
    _keep(folder / "masters.png", "masters")
    _photograph(page, "timeline", "timeline")
    for name, section, picture in SECTIONS:
        _photograph(folder / name, section, picture)


def _keep(drawn: Path, name: str) -> None:
    """A picture that a command has drawn, as small as the same pixels can be."""
    from PIL import Image

    with Image.open(drawn) as picture:
        picture.save(PICTURES / f"{name}.png", optimize=True)


def _photograph(page: Path, section: str, picture: str) -> None:
    """A section of a page, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        shown.goto(page.as_uri())
        shown.locator(f"#{section}[data-ready]").wait_for()
        box = shown.locator(f"#{section}").bounding_box()
        assert box is not None
        clip = {"x": box["x"] - MARGIN, "y": box["y"], "width": box["width"] + 2 * MARGIN, "height": box["height"]}
        shown.screenshot(path=PICTURES / f"{picture}.png", clip=clip, full_page=True)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        make(Path(made))

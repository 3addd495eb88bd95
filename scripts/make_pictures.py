"""Make the pictures that README.md and the guide show, by the commands that the guide names, and a browser."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile, which
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "tilesim" / "guide"
PICTURES = ROOT / ".github" / "pictures"
SHOWN = re.compile(r"^\$ (tilesim (?:run \S+ .*--out|report|compare) [^|\n]*)", re.MULTILINE)
"""The commands of a page that pictures come from."""
PAGES = ("trace.md", "batches.md")
SIZE = {"width": 1100, "height": 1000}
MARGIN = 12
"""Pixels around the timeline."""


def commands(page: str) -> list[list[str]]:
    """The words of a page's commands that make runs and pictures of them."""
    return [line.split() for line in SHOWN.findall((GUIDE / page).read_text(encoding="utf-8"))]


def make(folder: Path) -> None:
    """Run the commands in ``folder``, and put the pictures of the run that they made where the pages look for them.

    Raises:
        subprocess.CalledProcessError: a command fails.
    """
    for words in (words for page in PAGES for words in commands(page)):
        program = [sys.executable, "-m", "tilesim", *words[1:]]
        subprocess.run(program, cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=True)  # noqa: S603  (our own guide)
    [page] = folder.glob("*/report.html")
    [schedules] = folder.glob("runs/*/compare-batching.png")
    PICTURES.mkdir(parents=True, exist_ok=True)
    copyfile(page.parent / "figures" / "contention.png", PICTURES / "contention.png")
    copyfile(schedules, PICTURES / schedules.name)
    _photograph(page, PICTURES / "timeline.png")


def _photograph(page: Path, picture: Path) -> None:
    """The timeline of a report, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        shown.goto(page.as_uri())
        shown.locator("#timeline[data-ready]").wait_for()
        box = shown.locator("#timeline").bounding_box()
        assert box is not None
        clip = {"x": box["x"] - MARGIN, "y": box["y"], "width": box["width"] + 2 * MARGIN, "height": box["height"]}
        shown.screenshot(path=picture, clip=clip, full_page=True)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        make(Path(made))

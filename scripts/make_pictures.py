"""Make the pictures that README.md shows, by the commands that it names, and a browser for the page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile, which
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURES = ROOT / ".github" / "pictures"
SHOWN = ("tilesim run", "tilesim report", "tilesim compare")
"""How the commands begin, in a block below a heading of README.md, that pictures come from."""
ONE_RUN, SCHEDULES = "**See where the cycles went.**", "with real data"
"""What these blocks stand below."""
SIZE = {"width": 1100, "height": 1000}
MARGIN = 12
"""Pixels around the timeline."""


def commands(readme: str, heading: str) -> list[list[str]]:
    """The words of the commands below a heading that make runs and pictures of them."""
    block = readme.split(heading)[1].split("```console\n")[1].split("```", maxsplit=1)[0]
    lines = re.findall(r"^\$ ([^|\n]*)", block, re.MULTILINE)
    return [line.split() for line in lines if line.startswith(SHOWN)]


def make(folder: Path) -> None:
    """Run the commands in ``folder``, and put the pictures of the run that they made where README.md looks for them.

    Raises:
        subprocess.CalledProcessError: a command fails.
    """
    readme = README.read_text(encoding="utf-8")
    for words in (*commands(readme, ONE_RUN), *commands(readme, SCHEDULES)):
        program = [sys.executable, "-m", "tilesim", *words[1:]]
        subprocess.run(program, cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=True)  # noqa: S603  (our own README)
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

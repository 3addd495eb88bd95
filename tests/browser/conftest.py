"""A real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.report.exploration.rows import rows
from tilesim.cli import app
from tilesim.explore.row import Row
from tilesim.report.exploration.keys import in_order
from tilesim.report.page.explore import exploration_page

Open: TypeAlias = Callable[..., Any]

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--disable-dev-shm-usage"),
)
ALL_DRAWN = "main:not(:has(> section:not([data-ready])))"
"""A selector: the page's policy keeps playwright's ``wait_for_function`` out, which evaluates text."""
VIEWPORT = {"width": 1280, "height": 900}
PATIENCE_MS = 120_000


def _missing(reason: str) -> None:
    """A skip; a failure where everything has to be tested."""
    if os.environ.get("TILESIM_CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser, one for all tests."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("no playwright: pip install playwright")
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        _missing("no chromium on the PATH: apt-get install chromium")
    unconfined = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=[*QUIET, *unconfined])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file in a new page, all its sections drawn. What it asks the network for, and what its scripts complain
    about, fails the test in the end.
    """
    requests: list[str] = []
    complaints: list[str] = []
    contexts: list[Any] = []

    def open_(path: Path, **context: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": VIEWPORT, **context}))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector(ALL_DRAWN, state="attached")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a traced run of ``digits`` on edge-2x2, with its page."""
    from typer.testing import CliRunner

    folder = tmp_path_factory.mktemp("digits")
    words = ("run", "digits", "--topology", "edge-2x2", "--trace", "--out", str(folder))
    for each in (words, ("report", str(folder))):
        result = CliRunner().invoke(app, list(each))
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def many_points(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], Path]:
    """The rows of a sweep of 10,000 points, as its page has them, and the page."""
    found, path = in_order(rows(10_000)), tmp_path_factory.mktemp("many") / "page.html"
    path.write_text(exploration_page(found, "10,000 points"), encoding="utf-8")
    return found, path

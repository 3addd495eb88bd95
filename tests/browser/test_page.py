"""The page in a real browser: its frame, whatever its sections draw."""

from pathlib import Path

from tests.browser.conftest import Open


def test_a_page_shows_its_run(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    assert page.title() == "digits on edge-2x2"
    assert page.locator("h1").text_content() == "digits on edge-2x2"
    assert page.locator("section").count() > 0

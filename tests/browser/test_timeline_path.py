"""The critical path over the timeline in a real browser: below each of its spans, from the first cycle to the last."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.browser.conftest import Open
from tilesim.cli import app
from tilesim.report.analysis.critical_path import critical_path
from tilesim.report.document import load_run

# Whether the path's colour is below the middle of each step that is so wide, on the track's own row.
BELOW = """() => {
    const timeline = tilesim.timeline, { path, marks: { canvas }, painter, rows } = timeline;
    timeline.marks.paint();
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const wanted = painter.palette.fg.slice(1).match(/../g).map((two) => parseInt(two, 16));
    return [...path.start.keys()].map((k) => {
        const x = timeline.x(path.start[k] + path.cycles[k] / 2), y = timeline.y(path.track[k]);
        const width = timeline.x(path.start[k] + path.cycles[k]) - timeline.x(path.start[k]);
        const row = y === null ? null : rows.shown[rows.indexOf(path.track[k])];
        if (width < 4 || row === null) return null;
        const at = 4 * (Math.round(y + 12) * canvas.width + Math.round(x));
        return wanted.every((value, c) => data[at + c] === value);
    });
}"""


@pytest.fixture(scope="module")
def pocket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A traced run of ``pocket`` with its page."""
    folder = tmp_path_factory.mktemp("pocket")
    for words in (("run", "pocket", "-t", "pocket-2x1", "--trace", "--out", folder), ("report", folder)):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
    return folder


def test_the_path_is_drawn_below_its_spans(open_page: Open, pocket: Path) -> None:
    page, run = open_page(pocket / "report.html"), load_run(pocket)
    assert run.trace is not None
    steps = critical_path(run.statistics, run.trace)
    toggle = page.get_by_role("button", name="Critical path")
    assert toggle.get_attribute("aria-pressed") == "false"
    page.get_by_role("button", name="Unfold all", exact=True).click()
    page.locator("#timeline .scroller").press("c")
    assert toggle.get_attribute("aria-pressed") == "true"
    found = page.evaluate(BELOW)
    assert len(found) == len(steps.start)
    drawn = [each for each in found if each is not None]
    assert len(drawn) > len(found) / 3
    assert all(drawn)
    page.wait_for_timeout(300)
    assert "path=1" in page.evaluate("() => location.hash")
    toggle.click()
    assert page.evaluate("() => tilesim.timeline.path.isShown") is False


def test_groups_stand_in_the_order_of_their_shares_of_the_path(open_page: Open, pocket: Path) -> None:
    page, run = open_page(pocket / "report.html"), load_run(pocket)
    assert run.trace is not None
    steps, cycles = critical_path(run.statistics, run.trace), run.statistics["cycles"]
    shares = page.evaluate(
        "() => tilesim.timeline.rows.sorted.map(({ group, worth }) => [group.title, worth[0], group.tracks])"
    )
    assert shares[0][0] == "MAC arrays"
    others = [share for _, share, _ in shares[1:]]
    assert others == sorted(others, reverse=True)
    for _, share, tracks in shares:
        ours = [k for k, track in enumerate(steps.track.tolist()) if track in tracks]
        assert share == pytest.approx(sum(steps.cycles[k] for k in ours) / cycles, abs=1e-4)

"""What a run noticed, on the timeline in a real browser: marks in both masters' colours, in words, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.test_timeline import TRACKS, WINDOW, write
from tests.report.saved import made_up, random_trace
from tilesim.cli import app
from tilesim.findings import sentence
from tilesim.report.document import load_run

OVERLAP = Path(__file__).parents[2] / "workloads" / "dual-master" / "overlap.tasm"
# The colours to the left and to the right of the middle of a finding's mark: on the ruler, and on its tracks.
MARK = """(k) => {
    const timeline = tilesim.timeline, finding = timeline.findings.all[k];
    const reader = (canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const at = (x, y) => 4 * (Math.round(y) * canvas.width + Math.round(x));
        const hex = (value) => value.toString(16).padStart(2, "0");
        return (x, y) => "#" + [...data.slice(at(x, y), at(x, y) + 3)].map(hex).join("");
    };
    const [ofTop, ofRows] = [reader(timeline.top), reader(timeline.marks.canvas)];
    const x = timeline.x(finding.cycle + 0.5), y = timeline.head.depth * 15 + 6.5;
    const wanted = finding.hues.map((hue) => tilesim.colour(`master:${hue}`));
    const head = [-2, 2].map((side) => ofTop(x + side, y));
    const rows = finding.tracks.map(([track, hue]) => {
        const own = hue < 0 ? wanted : [tilesim.colour(`master:${hue}`), tilesim.colour(`master:${hue}`)];
        return [own, [-2, 2].map((side) => ofRows(x + side, timeline.y(track) + 6))];
    });
    return { wanted, head, rows };
}"""


@pytest.fixture(scope="module")
def overlap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which two masters met, with its page."""
    from typer.testing import CliRunner

    folder = tmp_path_factory.mktemp("overlap")
    run: Sequence[object] = ("run", OVERLAP, "--rules", "observe", "--trace", "--out", folder)
    for words in (run, ("report", folder)):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_meeting_is_marked_in_both_masters_colours(open_page: Open, overlap: Path, scheme: str) -> None:
    page = open_page(overlap / "report.html", color_scheme=scheme)
    page.evaluate("() => document.getElementById('timeline').scrollIntoView({ behavior: 'instant' })")
    page.wait_for_timeout(200)
    seen = page.evaluate(MARK, 0)
    assert len(set(seen["wanted"])) == 2
    assert seen["head"] == seen["wanted"]
    assert len(seen["rows"]) == 3
    assert all(wanted == drawn for wanted, drawn in seen["rows"])


def test_a_meeting_is_said_and_shown(open_page: Open, overlap: Path) -> None:
    page = open_page(overlap / "report.html")
    (finding,) = load_run(overlap).statistics["findings"]
    bar = page.locator("#timeline .findings")
    assert sentence(finding) in bar.inner_text()
    assert "1 finding" in bar.inner_text()
    page.evaluate("() => document.getElementById('timeline').scrollIntoView({ behavior: 'instant' })")
    x, y = page.evaluate("() => [tilesim.timeline.x(20.5), tilesim.timeline.head.depth * 15 + 6]")
    top = page.locator("#timeline .top").bounding_box()
    page.mouse.move(top["x"] + x, top["y"] + y)
    assert sentence(finding) in page.locator("#tip").inner_text()
    page.evaluate("() => tilesim.timeline.show(0, 16)")
    page.locator("#timeline .scroller").press("j")
    begin, end = page.evaluate(WINDOW)
    assert begin <= 20 < end
    assert "finding 1 of 1, meeting:" in bar.inner_text()
    labels = page.locator("#timeline .scroller .label.track")
    shown = labels.evaluate_all("nodes => nodes.map((node) => node.dataset.track)")
    assert {"chip.tile0.ring_producer", "chip.tile1.ring_producer", "chip.ring.link2"} <= set(shown)


def test_findings_are_stepped_through(open_page: Open, tmp_path: Path) -> None:
    trace = random_trace(7, TRACKS, 200)
    findings: list[Any] = [
        {"kind": f"kind {k}", "section": "run", "cycle": cycle} for k, cycle in enumerate((500, 20, 900))
    ]
    page = open_page(write(tmp_path, made_up(trace, findings=findings)))
    bar, scroller = page.locator("#timeline .findings"), page.locator("#timeline .scroller")
    assert "3 findings; the first, kind 1:" in bar.inner_text()
    page.evaluate("() => tilesim.timeline.show(0, 100)")
    kinds = []
    for key in ("j", "j", "j", "j", "k", "k"):
        scroller.press(key)
        kinds.append(bar.inner_text().split("kind ")[1][0])
        begin, end = page.evaluate(WINDOW)
        assert begin <= findings[int(kinds[-1])]["cycle"] < end
    assert kinds == ["1", "0", "2", "1", "2", "0"]
    page.get_by_role("button", name="next finding").click()
    assert "finding 3 of 3" in bar.inner_text()
    page.get_by_role("button", name="previous finding").click()
    assert "finding 2 of 3" in bar.inner_text()


def test_without_findings_there_is_no_bar(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write(tmp_path, made_up(random_trace(7, TRACKS, 60), findings=[])))
    assert page.locator("#timeline .findings").count() == 0

"""How many frames a second the timeline draws with many spans on 64 tracks, all of which show; and that it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.report.saved import made_up, random_trace
from tilesim.report.page.build import page as built
from tilesim.report.page.timeline import timeline

TRACKS = tuple(f"chip.tile{tile}.unit{unit}" for tile in range(4) for unit in range(16))
VIEWPORT = {"width": 1440, "height": 1240}
SMALL = 50  # spans of a track, where nothing is measured

# Pan over the whole run, zoom in as far as it goes, and out again: a step a frame.
JOURNEY = """async (frames) => {
    const { timeline } = tilesim, { view } = timeline, cycles = timeline.data.cycles;
    const part = Math.ceil(frames / 3), factor = ((cycles * 0.9) / 16) ** (-1 / part);
    const acts = [
        (k) => timeline.show((cycles * k) / (part - 1) / 10, cycles * (0.9 + k / (part - 1) / 10)),
        () => timeline.zoom(factor, cycles / 3),
        () => timeline.zoom(1 / factor, cycles / 3),
    ];
    const frame = () => new Promise(requestAnimationFrame);
    const { count } = timeline.frames;
    const begun = performance.now();
    for (const act of acts)
        for (let k = 0; k < part; k++) {
            act(k);
            await frame();
        }
    await frame();
    const seconds = (performance.now() - begun) / 1000;
    return { drawn: timeline.frames.count - count, rows: timeline.visible, seconds };
}"""


@pytest.mark.benchmark
@pytest.mark.parametrize("spans", [200_000, 1_000_000])
def test_frames(open_page: Open, tmp_path: Path, benchmark: Any, spans: int) -> None:
    each = spans // len(TRACKS) if benchmark.enabled else SMALL
    trace = random_trace(3, TRACKS, each)
    path = tmp_path / "timeline.html"
    path.write_text(built("frames", "", [timeline(made_up(trace))]), encoding="utf-8")
    page = open_page(path, viewport=VIEWPORT)
    page.get_by_role("button", name="Unfold all", exact=True).click()
    frames = 180 if benchmark.enabled else 9
    page.evaluate(JOURNEY, frames)  # warms up
    found = benchmark.pedantic(page.evaluate, (JOURNEY, frames), rounds=3 if benchmark.enabled else 1)
    assert found["rows"] >= len(TRACKS)
    assert abs(found["drawn"] - frames) <= 2
    benchmark.extra_info.update(spans=trace.start_cycle.size, frames_per_second=found["drawn"] / found["seconds"])
    width, cycles = page.evaluate("() => [tilesim.timeline.view.width, tilesim.timeline.data.cycles]")
    assert width == pytest.approx(0.9 * cycles, rel=0.02)

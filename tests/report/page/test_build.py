"""One file that holds everything, and runs nothing that names or data bring along."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.saved import made_up
from tilesim.report.document import SavedRun
from tilesim.report.page.build import ARRAYS, PageSection, encoded, page
from tilesim.report.page.sections import report

EVIL = "</script><script>alert(1)</script><!--"
DTYPES = {array: dtype for dtype, array in ARRAYS.items()}


class Elements(HTMLParser):
    """The elements of a page with their attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes), ""))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def all(self, tag: str) -> Iterator[tuple[dict[str, str | None], str]]:
        return ((attributes, text) for name, attributes, text in self.found if name == tag)


def decoded(kind: str, text: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.dtype(DTYPES[kind]).newbyteorder("<"))


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1)))
def test_whole_numbers_arrive_as_they_were(numbers: list[int]) -> None:
    assert decoded(*encoded(np.array(numbers, np.int64))).tolist() == numbers


@given(st.lists(st.floats(allow_nan=False)))
def test_fractions_arrive_as_they_were(numbers: list[float]) -> None:
    assert decoded(*encoded(np.array(numbers, np.float64))).tolist() == numbers


def test_columns_take_the_smallest_type() -> None:
    highest = {"Uint8Array": 255, "Uint16Array": 256, "Uint32Array": 2**16, "Float64Array": 2**32}
    assert {encoded(np.array([0, each]))[0]: each for each in highest.values()} == highest
    assert encoded(np.array([-1, 127]))[0] == "Int8Array"
    assert encoded(np.array([-1, 128]))[0] == "Int16Array"


def test_what_a_browser_would_round_is_refused() -> None:
    with pytest.raises(
        ValueError, match=re.escape("must be below 2**53 to be exact in a browser, not 9007199254740992")
    ):
        encoded(np.array([2**53]))


def test_the_page_asks_for_nothing_and_lets_only_its_own_scripts_run() -> None:
    elements = Elements(report(made_up(None)))
    policy = next(a["content"] or "" for a, _ in elements.all("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    scripts = [text for attributes, text in elements.all("script") if "type" not in attributes]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert len(scripts) == 2
    assert all(f"'sha256-{digest}'" in policy for digest in hashes)
    sources = [a.get(name) for _, a, _ in elements.found for name in ("src", "href") if name in a]
    assert all(source and source.startswith(("#", "data:")) for source in sources)
    assert not [name for _, a, _ in elements.found for name in a if name.startswith("on")]


def renamed(value: Any, key: str = "") -> Any:
    """A document whose names, labels and words are all evil."""
    if isinstance(value, dict):
        return {name: renamed(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [renamed(part, key) for part in value]
    return EVIL if isinstance(value, str) and key not in {"schema", "track", "machine"} else value


def test_names_are_text(digits_run: SavedRun) -> None:
    trace = digits_run.trace
    assert trace is not None
    names = {each: tuple(f"{EVIL}{k}" for k in range(len(getattr(trace, each)))) for each in ("whats", "layers")}
    evil = SavedRun(digits_run.folder, renamed(digits_run.statistics), replace(trace, **names))
    harmless, harmful = Elements(report(digits_run)), Elements(report(evil))
    assert [tag for tag, _, _ in harmful.found] == [tag for tag, _, _ in harmless.found]
    assert EVIL in next(text for _, text in harmful.all("h1"))


def test_any_text_can_be_written() -> None:
    nasty = "\udc80\x00\u2028\ud83d"
    page(nasty, nasty, [PageSection("overview", nasty, [nasty])]).encode("utf-8")


def test_data_can_not_end_their_element() -> None:
    text = page("t", "s", [PageSection("overview", EVIL, {EVIL: EVIL}, {EVIL: np.zeros(1, np.int8)})])
    assert text.lower().count("<script") == text.lower().count("</script>") == 4
    assert "<!--" not in text

"""The sections of a sweep's page that show its points."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.report.exploration.rows import row, rows
from tilesim.report.page.explore_space import points_section, space_sections, texts


@given(st.lists(st.text(alphabet="ab é\n", max_size=12), max_size=8))
def test_texts_come_back_from_their_words(sentences: list[str]) -> None:
    found = texts(sentences)
    starts = [0, *found.ends[:-1]]
    again = [
        " ".join(found.words[place] for place in found.places[start:end])
        for start, end in zip(starts, found.ends, strict=False)
    ]
    assert again == sentences
    assert len(set(found.words)) == len(found.words)


def test_columns_stand_for_what_the_rows_have() -> None:
    found = rows(100)
    section = points_section(found)
    data, columns = section.data, section.columns
    for k, each in enumerate(found):
        assert data["networks"][columns["network"][k]] == each["network"]
        assert data["statuses"][columns["status"][k]] == each["status"]
        assert data["bounds"][columns["bound"][k]] == (
            "" if each["measures"] is None else data["bounds"][columns["bound"][k]]
        )
    names = [key["key"] for key in data["keys"]]
    lanes = names.index("tile.lanes")
    assert [data["keys"][lanes]["numbers"][code] for code in columns[f"key.{lanes}"]] == [
        each["chip"]["tile.lanes"] for each in found
    ]
    assert all(columns[measure["name"]].shape == (100,) for measure in data["measures"])


def test_a_row_of_each_kind_is_told_even_alone() -> None:
    for status in ("ran", "refused", "failed"):
        section = points_section([row(status=status)])
        assert section.data["counts"][status] == 1
        assert len(section.data["reasons"]) == (status != "ran")
    assert points_section([]).data["count"] == 0


def test_a_map_begins_with_two_keys_where_two_differ() -> None:
    heat = space_sections(rows(300))[0]
    names = [key["key"] for key in points_section(rows(300)).data["keys"]]
    assert [names[k] for k in heat.data["axes"]] == ["grid", "tile.lanes"]
    assert space_sections(rows(1))[0].data["axes"] is None


def test_names_are_made_harmless_and_commands_are_kept() -> None:
    found = [row("a\u202eb"), row("c")]
    found[0]["command"] = "tilesim run 'a\x1b  b'"
    section = points_section(found)
    assert section.data["networks"] == ["a\\u202eb", "c"]
    ends, places = section.columns["command ends"], section.columns["command words"]
    words = [section.data["texts"]["command"][place] for place in places[: ends[0]]]
    assert " ".join(words) == found[0]["command"]
    assert np.all(np.diff(ends) > 0)

"""The rounds of a search are there again, whole ones only, whatever the file's name and whoever else writes to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial

from tilesim.errors import InputError
from tilesim.explore.search.sampler import Dimension, Outcome, Sampler
from tilesim.explore.search.study_file import StudyFile

DIMENSIONS = (Dimension("tiles", 8, True), Dimension("cut", 4, False))


def sampler() -> Sampler:
    return Sampler(DIMENSIONS, [False, True], 0, lambda choice: choice[0] != 3)


OUTCOMES = [Outcome((1.5, 2.0), {"small": 0.25}), Outcome((), {"runs": 10.0}), Outcome((0.5, 1.0), {"small": 0.0})]


def test_rounds_are_there_again(tmp_path: Path) -> None:
    path, asking = tmp_path / "a {b}?c#d%20.optuna", sampler()
    with StudyFile(path, "one", [False, True]) as kept:
        asked = [asking.ask(3)]
        kept.add(0, asking.tell(OUTCOMES))
        asked.append(asking.ask(3))
        kept.add(1, asking.tell(OUTCOMES[::-1]))
    recalling = sampler()
    with StudyFile(path, "one", [False, True]) as kept:
        rounds = [kept.round(0), kept.round(1)]
        assert [recalling.recall(trials or []) for trials in rounds] == asked
        assert kept.round(2) is None
    assert recalling.ask(3) == asking.ask(3)
    assert [path.name for path in tmp_path.iterdir()] == ["a {b}?c#d%20.optuna"]


def test_a_round_that_is_not_whole_does_not_count_and_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = sampler()
    asking.ask(3)
    trials = asking.tell(OUTCOMES)
    add, left = Study.add_trial, [1, 2]

    def add_or_die(study: Study, trial: FrozenTrial) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        add(study, trial)

    with monkeypatch.context() as killing, StudyFile(tmp_path / "s.optuna", "one", [False, True]) as kept:
        killing.setattr(Study, "add_trial", add_or_die)
        with pytest.raises(KeyboardInterrupt):
            kept.add(0, trials)
    with StudyFile(tmp_path / "s.optuna", "one", [False, True]) as kept:
        assert kept.round(0) is None
        kept.add(0, trials)
    with StudyFile(tmp_path / "s.optuna", "one", [False, True]) as kept:
        assert [trial.values for trial in kept.round(0) or []] == [trial.values for trial in trials]


def test_searches_do_not_see_each_other(tmp_path: Path) -> None:
    asking = sampler()
    asking.ask(3)
    with (
        StudyFile(tmp_path / "s.optuna", "one", [False, True]) as one,
        StudyFile(tmp_path / "s.optuna", "two", [True]) as two,
    ):
        one.add(0, asking.tell(OUTCOMES))
        assert two.round(0) is None


@pytest.mark.parametrize("text", ["", "no database at all"])
def test_what_is_no_such_file_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.optuna"
    path.write_text(text)
    if not text:  # an empty file is an empty database
        with StudyFile(path, "one", [False]) as kept:
            assert kept.round(0) is None
        return
    with pytest.raises(InputError, match=r"s\.optuna: the study of a search cannot be read: .*not a database"):
        StudyFile(path, "one", [False])
    with pytest.raises(InputError, match=r"the study cannot be written there: No such file or directory"):
        StudyFile(tmp_path / "nowhere" / "s.optuna", "one", [False])

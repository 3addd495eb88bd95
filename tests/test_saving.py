"""Files that appear together: where something is in the way, beside others, and in what a dead process has left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from tilesim.saving import all_or_nothing, undisturbed

ROOT = Path(__file__).resolve().parent.parent


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text(name)


def test_files_replace_those_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, "kept", "stale")
    (tmp_path / "old").touch()
    with all_or_nothing(tmp_path, replaced=("old", "stale", "absent")) as made:
        write(made, "old", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"kept": "kept", "old": "old", "new": "new"}


def write_and_fail(folder: Path, error: type[BaseException]) -> None:
    with all_or_nothing(folder, replaced=("kept",)) as made:
        write(made, "half")
        raise error


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_all_is_as_before(tmp_path: Path, error: type[BaseException]) -> None:
    write(tmp_path, "kept")
    for folder in (tmp_path, tmp_path / "new" / "deep"):
        with pytest.raises(error):
            write_and_fail(folder, error)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_folder_in_the_way_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_text("old")
    with pytest.raises(IsADirectoryError, match="b is a folder"):
        write_two(tmp_path)
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("form", ["now leads elsewhere", "old is a link", "the room is a link"])
def test_what_a_strangers_folder_links_to_stays_where_it_is(form: str, tmp_path: Path) -> None:
    folder, victim, room = tmp_path / "run", tmp_path / "victim", tmp_path / "run" / ".saving-0123456789abcdef"
    (victim / "old").mkdir(parents=True)
    folder.mkdir()
    write(victim, "key", "old/key")
    if form == "the room is a link":
        (victim / "now").symlink_to("old")
        room.symlink_to(victim)
    else:
        room.mkdir()
        (room / "now").symlink_to(victim if form == "now leads elsewhere" else "old")
        (room / "old").symlink_to(victim)
    (folder / "key").symlink_to(f"{room.name}/now/key")
    with all_or_nothing(folder) as made:
        write(made, "new")
    assert (victim / "key").read_text() == "key"
    assert (victim / "old" / "key").read_text() == "old/key"
    assert sorted(path.name for path in folder.iterdir()) == ["key", "new"]


def write_two(folder: Path) -> None:
    with all_or_nothing(folder) as made:
        for name in ("a", "b"):
            (made / name).write_text("new")


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def save(folder: Path, *names: str, text: str = "new", replaced: tuple[str, ...] = ()) -> None:
    with all_or_nothing(folder, replaced) as made:
        for name in names:
            (made / name).write_text(text)


def test_where_nothing_can_be_linked_files_move_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    write(tmp_path, "a", "stale")
    monkeypatch.setattr(Path, "symlink_to", refuse)
    save(tmp_path, "a", "b", replaced=("stale",))
    assert held(tmp_path) == {"a": "new", "b": "new"}


def test_without_hard_links_what_is_replaced_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    write(tmp_path, "a", "b")
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    save(tmp_path, "a", "c", replaced=("b",))
    assert held(tmp_path) == {"a": "new", "c": "new"}


def test_a_link_that_leads_nowhere_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    for folder in (tmp_path / "link", tmp_path / "link" / "deep"):
        with pytest.raises(FileNotFoundError, match="leads nowhere"):
            save(folder, "a")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_what_is_left_goes_and_what_only_sounds_so_stays(tmp_path: Path) -> None:
    for name in (".saving-0123456789abcdef", ".saving-money", ".saving-0123456789abcdef0"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "file")
    save(tmp_path, "a")
    assert {path.name for path in tmp_path.iterdir()} == {"a", ".saving-money", ".saving-0123456789abcdef0"}


def test_the_room_of_the_living_stays(tmp_path: Path) -> None:
    with all_or_nothing(tmp_path) as made:
        (made / "a").write_text("first")
        save(tmp_path, "a", "b", text="second")
        assert held(tmp_path) == {"a": "second", "b": "second"}
    assert held(tmp_path) == {"a": "first", "b": "second"}


def test_whoever_saves_waits_for_whoever_reads(tmp_path: Path) -> None:
    save(tmp_path, "a", "b", text="old")
    saved = Event()
    thread = Thread(target=lambda: (save(tmp_path, "a", "b"), saved.set()))
    with undisturbed(tmp_path):
        assert (tmp_path / "a").read_text() == "old"
        thread.start()
        assert not saved.wait(0.2)
        assert (tmp_path / "b").read_text() == "old"
    thread.join()
    assert held(tmp_path) == {"a": "new", "b": "new"}


def test_a_folder_that_is_not_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    with undisturbed(tmp_path / "none"):
        assert held(tmp_path) == {}


def save_within(folder: Path, *names: str, text: str = "new", replaced: tuple[str, ...] = ()) -> None:
    with all_or_nothing(folder, replaced) as made:
        for name in names:
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_text(text)


def held_within(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_in_folders_come_together_too(tmp_path: Path) -> None:
    save_within(tmp_path, "a/x", "a/y", "b/x", "page", text="old")
    (tmp_path / "a" / "mine").write_text("mine")
    save_within(tmp_path, "a/x", "c/x", replaced=("a/y", "page", "d/x"))
    assert held_within(tmp_path) == {"a/mine": "mine", "a/x": "new", "b/x": "old", "c/x": "new"}
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("way", ["a folder", "a file", "no links", "no copies"])
def test_where_folders_cannot_be_filled_all_is_as_before(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_within(tmp_path, "b/x", text="old")
    if way == "a folder":
        (tmp_path / "c" / "x").mkdir(parents=True)
    elif way == "a file":
        (tmp_path / "c").write_text("old")
    before = {path: path.is_dir() for path in tmp_path.rglob("*")}
    if way == "no links":
        monkeypatch.setattr("tilesim.saving._point", refuse)
    elif way == "no copies":
        monkeypatch.setattr("tilesim.saving._double", refuse)
    with pytest.raises(OSError):  # noqa: PT011  (each says something else)
        save_within(tmp_path, "a/x", "b/x", "c/x")
    assert {path: path.is_dir() for path in tmp_path.rglob("*")} == before
    assert (tmp_path / "b" / "x").read_text() == "old"


def refuse(*_: object) -> None:
    raise PermissionError


def test_a_folder_may_be_a_link_to_another(tmp_path: Path) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a").symlink_to("../far/away")
    for text in ("old", "new"):
        save_within(tmp_path / "run", "a/x", "a/y", "page", text=text)
    assert held_within(tmp_path / "far") == {"away/x": "new", "away/y": "new"}
    assert not any(path.is_symlink() for path in (tmp_path / "far").rglob("*"))


def test_whoever_saves_folders_waits_for_whoever_reads_one(tmp_path: Path) -> None:
    save_within(tmp_path, "a/x", "a/y", text="old")
    saved = Event()
    thread = Thread(target=lambda: (save_within(tmp_path, "a/x", "a/y", "b/x"), saved.set()))
    with undisturbed(tmp_path / "a"):
        thread.start()
        assert not saved.wait(0.2)
        assert held(tmp_path / "a") == {"x": "old", "y": "old"}
    thread.join()
    assert held_within(tmp_path) == {"a/x": "new", "a/y": "new", "b/x": "new"}


def test_what_a_strangers_room_links_to_stays_where_it_is(tmp_path: Path) -> None:
    """A room that is whole but for a folder in it, which leads elsewhere."""
    run, victim, room = tmp_path / "run", tmp_path / "victim", tmp_path / "run" / ".saving-0123456789abcdef"
    for folder in (run / "a", victim, room / "old", room / "new" / "a"):
        folder.mkdir(parents=True)
    write(victim, "key")
    write(room / "new" / "a", "key")
    (room / "old" / "a").symlink_to(victim)
    (room / "now").symlink_to("old")
    (run / "a" / "key").symlink_to(f"../{room.name}/now/a/key")
    save_within(run, "a/new")
    assert (victim / "key").read_text() == "key"
    assert sorted(path.name for path in run.iterdir()) == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_in_the_place_of_a_folder_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".saving-0123456789abcdef")
    thread = Thread(target=lambda: save(tmp_path, "a", "b"), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert held(tmp_path) == {"a": "new", "b": "new"}


def killed(kills: int, folder: Path, *options: str) -> dict[str, int]:
    """What came of ``kills`` at random moments, and of one at every step."""
    command = [sys.executable, ROOT / "tests" / "kill_saving.py", str(kills), folder, *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, int] = json.loads(run.stdout)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_folder_is_whole_whenever_the_process_dies(tmp_path: Path) -> None:
    found = killed(30, tmp_path)
    assert found["old"] > 0
    assert found["new"] > 0
    assert found["steps"] > 40
    assert found["random"] == 30
    assert (found["mixed"], found["left"]) == (0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_folders_in_a_folder_are_whole_whenever_the_process_dies(tmp_path: Path) -> None:
    found = killed(8, tmp_path, "--folders")
    assert found["old"] > 0
    assert found["new"] > 0
    assert (found["random"], found["mixed"], found["left"]) == (8, 0, 0)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("options", [(), ("--folders",)], ids=str)
def test_a_folder_is_whole_after_many_deaths(tmp_path: Path, options: tuple[str, ...]) -> None:
    found = killed(500, tmp_path, "--all", *options)
    assert found["steps"] > 300
    assert (found["random"], found["mixed"], found["left"]) == (500, 0, 0)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_folder_is_whole_where_many_save_and_die(tmp_path: Path) -> None:
    found = killed(400, tmp_path, "--crowd")
    assert found["reads"] > 1000
    assert (found["random"], found["mixed"], found["left"]) == (400, 0, 0)

"""Files that appear together or not at all, whenever the process dies.

Several files cannot be renamed at once, but a link that they are all seen through can. New files are written in a room
beside the old ones, ``FOLDER/.saving-*``, which holds ``new``, ``old`` (hard links to what is to be replaced) and
``now``, a link to one of the two. In turn, each name in the folder becomes a link ``.saving-*/now/NAME``: whoever reads
it still finds the old file. Then ``now`` is renamed from ``old`` to ``new``: this one step exchanges all files. At last
the links become the files that they lead to, and the room goes.

So at every moment, each name leads to the old file, or each to the new one: whoever reads a folder that a dead process
has left has nothing to repair. The next to save there takes the links and the room away; a room is left if nobody has
it locked. Files may be in folders of the folder, too: their names are then such as ``a/run.json``. A power cut is
another matter: nothing waits for the disk. Where a file system has no links, files move one by one.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from tilesim.errors import InputError
from tilesim.files import odd_kind

if sys.platform != "win32":
    import fcntl

_ROOM, _DIGITS = ".saving-", 16
_OLD, _NEW, _NOW = "old", "new", "now"


@contextmanager
def all_or_nothing(folder: Path, replaced: Collection[str] = ()) -> Iterator[Path]:
    """A folder to write files in, or in folders that are made in it, that all come to ``folder`` in the end, replacing
    those of their names.

    Files named in ``replaced`` go even if there is no new one. If something goes wrong, ``folder`` stays as it was, or
    is not made; if the process dies, it holds all old files or all new ones.

    Raises:
        OSError: the folder cannot be made or written.
    """
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in made:
        if parent.is_symlink():
            raise FileNotFoundError(errno.ENOENT, "it is a link that leads nowhere", str(parent))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _room(folder) as room:
            yield room / _NEW
            with _locked(folder):
                _clear(folder)
                for parent in _missing(folder, room / _NEW):
                    parent.mkdir()
                    made.insert(0, parent)
                _exchange(folder, room, replaced)
    except BaseException:
        for parent in made:
            with suppress(OSError):  # another saver may be in it, or may have taken it away
                parent.rmdir()
        raise


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Whatever keeps ``what`` from being written to ``path`` in here is said in a sentence, by an InputError."""
    if "\0" in str(path):
        raise InputError(f"{path}: no file can have such a name")
    kind = "device" if path.absolute().parent == Path("/dev") else odd_kind(path)
    if kind not in ("", "folder"):  # it would be replaced
        raise InputError(f"{path}: must be a file to write, not a {kind}")
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: the {what} cannot be written there: {error.strerror or error}") from None


@contextmanager
def undisturbed(folder: Path) -> Iterator[None]:
    """While files in ``folder`` are read, nobody exchanges them: they are all of one saving."""
    with _locked(folder, exclusive=False):
        yield


@contextmanager
def _room(folder: Path) -> Iterator[Path]:
    """A room of one's own in ``folder``, known to be in use until it goes."""
    room = folder / f"{_ROOM}{token_hex(_DIGITS // 2)}"
    with ExitStack() as held:
        try:
            with _locked(folder):
                _clear(folder)
                room.mkdir()
                held.enter_context(_locked(room))
            (room / _NEW).mkdir()
            yield room
        finally:
            if room.exists():
                with _locked(folder):
                    _settle(folder, room)


def _clear(folder: Path) -> None:
    """Take away the rooms that dead processes have left; ``folder`` is locked."""
    for room in folder.glob(_ROOM + _DIGITS * "[0-9a-f]"):
        with suppress(OSError):  # somebody else's, perhaps, who alone may do that
            if room.is_symlink():  # none of ours, whatever it leads to
                room.unlink()
            elif _left(room):
                _settle(folder, room)


def _missing(folder: Path, new: Path) -> list[Path]:
    """The folders in ``folder`` that are not there yet for the ``new`` files."""
    parents = {(folder / name).parent for name in _names(new)}
    return sorted(parent for parent in parents if not parent.is_dir())


def _exchange(folder: Path, room: Path, replaced: Collection[str]) -> None:
    """Let the files in ``room`` take the place of those of their names."""
    written = {*_names(room / _NEW)}
    names = sorted(name for name in {*written, *replaced} if name in written or os.path.lexists(folder / name))
    for name in names:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{name} is a folder")
    with _all_locked(folder, names):
        if len(names) == 1 or not _has_links(room):
            for name in names:
                _put(room / _NEW / name, folder / name)
            return
        (room / _OLD).mkdir()
        for name in names:
            if (folder / name).exists():
                _double(folder / name, room / _OLD / name)
        for name in names:
            _point(folder / name, _way(folder, room, name), room)
        _point(room / _NOW, _NEW, room)


def _settle(folder: Path, room: Path) -> None:
    """Make links into ``room`` the files that they lead to, and take it away: for good, or to go back."""
    if _is_own(room):
        names = {*_names(room / _NEW), *_names(room / _OLD)}
        with _all_locked(folder, names):
            for name in names:
                path, source = folder / name, room / _NOW / name
                is_inside = source.parent.resolve() == (room / _NOW).resolve() / Path(name).parent
                if is_inside and path.is_symlink() and path.readlink() == Path(_way(folder, room, name)):
                    _put(source, path)
    shutil.rmtree(room)


def _names(folder: Path) -> Iterator[str]:
    """What the files are called that are in a folder, if it is there, and in the folders in it."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            yield from (f"{path.name}/{inner.name}" for inner in path.iterdir())
        else:
            yield path.name


def _way(folder: Path, room: Path, name: str) -> str:
    """What a link of this name in ``folder`` says, so that it leads to what is ``now`` to be there."""
    parent = (folder / name).parent
    return os.path.relpath(room.resolve() / _NOW / name, parent.resolve())


def _is_own(room: Path) -> bool:
    """Whether what a room shows is in it: folders come from strangers, too, and their links may lead anywhere."""
    now = room / _NOW
    return now.is_symlink() and now.resolve() in {room.resolve() / _OLD, room.resolve() / _NEW}


def _put(source: Path, path: Path) -> None:
    """Move the file ``source``, or that there is none, to ``path``."""
    if source.exists():
        source.replace(path)
    else:
        path.unlink(missing_ok=True)


def _has_links(room: Path) -> bool:
    try:
        (room / _NOW).symlink_to(_OLD)
    except OSError:
        return False
    return True


def _point(path: Path, target: str, room: Path) -> None:
    """Make ``path`` a link to ``target``, in one step."""
    link = room / "link"
    link.symlink_to(target)
    link.replace(path)


def _double(path: Path, copy: Path) -> None:
    copy.parent.mkdir(exist_ok=True)
    try:
        copy.hardlink_to(path.resolve())
    except OSError:  # the file system has no hard links, or the file belongs to somebody else
        shutil.copy2(path, copy)


# ---- locks: of a folder while its files are exchanged, and of a room while it is in use


@contextmanager
def _locked(folder: Path, exclusive: bool = True) -> Iterator[None]:
    """Nobody else has ``folder`` meanwhile, where folders can be locked; if it is not there, others will say so."""
    with ExitStack() as held:
        if sys.platform != "win32":
            with suppress(OSError):
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # whatever else might not let go
                held.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield


@contextmanager
def _all_locked(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Nobody else has the folders in ``folder`` that files of such names are in; ``folder`` itself is locked."""
    with ExitStack() as held:
        for parent in sorted({(folder / name).parent for name in names} - {folder}):
            held.enter_context(_locked(parent))
        yield


def _left(room: Path) -> bool:
    """Whether whoever made ``room`` is gone; if that cannot be told, he is not."""
    if sys.platform == "win32":
        return False
    descriptor = os.open(room, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True

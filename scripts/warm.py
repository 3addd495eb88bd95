"""A ``tilesim`` that need not load anything: one process has all of it loaded, and forks for each command.

    python scripts/warm.py --serve SOCKET         says "ready" when it is, and ends when whoever started it has ended
    python -I -S scripts/warm.py SOCKET WORDS...  has it run ``tilesim WORDS...``, in this folder, with these streams

Where nobody serves, the second becomes a ``tilesim`` of the ordinary kind.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STREAMS = (0, 1, 2)
LOST = 255
"""The exit status where the process that served has gone."""
LOOK_UP_SECONDS = 0.5
"""How often it looks whether anybody is left who could ask."""


def ask(path: str, words: list[str]) -> int:
    """The exit status of ``tilesim WORDS...``."""
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(path)
        except OSError:
            os.environ["PYTHONPATH"] = str(ROOT)
            os.execv(sys.executable, [sys.executable, "-m", "tilesim", *words])  # noqa: S606  (words of our own pages)
        socket.send_fds(asking, [b" "], STREAMS)
        asking.sendall(json.dumps([str(Path.cwd()), dict(os.environ), words]).encode())
        asking.shutdown(socket.SHUT_WR)
        return int(asking.recv(8) or LOST)


def serve(path: str) -> None:
    """Take what is asked for at the socket ``path``; returns in each process that is to be ``tilesim``, made ready."""
    import signal

    parent = os.getppid()
    _load()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        listening.settimeout(LOOK_UP_SECONDS)
        os.write(STREAMS[1], b"ready\n")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
        while os.getppid() == parent:
            try:
                asked, _ = listening.accept()
            except TimeoutError:
                continue
            with asked:
                if not os.fork():
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _answer(asked)
                    return
    os._exit(0)


def _answer(asked: socket.socket) -> None:
    """Fork once more: this process waits and says how that one ended, and there it returns."""
    _, streams, _, _ = socket.recv_fds(asked, 1, len(STREAMS))
    if process := os.fork():
        for stream in streams:
            os.close(stream)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        asked.sendall(str(status if status >= 0 else 128 - status).encode())  # as a shell says it of a signal
        os._exit(0)
    with asked.makefile(encoding="utf-8") as told:
        folder, environment, sys.argv[1:] = json.load(told)
    for theirs, ours in zip(streams, STREAMS, strict=True):
        os.dup2(theirs, ours)
        os.close(theirs)
    coding = sys.stdout.encoding
    sys.stdin, sys.stdout = (
        os.fdopen(stream, mode, encoding=coding, closefd=False) for stream, mode in enumerate("rw")
    )
    sys.stderr = os.fdopen(2, "w", encoding=coding, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


def _load() -> None:
    """Load all modules for which there are packages."""
    import gc
    from contextlib import suppress
    from importlib import import_module
    from pkgutil import walk_packages

    import tilesim

    for module in walk_packages(tilesim.__path__, "tilesim."):
        with suppress(ImportError):
            import_module(module.name)
    gc.collect()
    gc.freeze()


def main(words: list[str]) -> None:
    """What the first lines of this file say."""
    if words[0] != "--serve":
        sys.exit(ask(words[0], words[1:]))
    serve(words[1])
    from tilesim.__main__ import main as tilesim

    tilesim()


if __name__ == "__main__":
    main(sys.argv[1:])

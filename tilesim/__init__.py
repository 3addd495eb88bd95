"""tilesim: discrete-event simulation of multi-tile neural-network accelerators that carry the real data.

Its names are those of `tilesim.public`, which is imported when the first of them is asked for: the program ``tilesim``
begins here, and has to be ready for Ctrl-C before anything takes time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilesim.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    public = import_module("tilesim.public")
    if name == "__all__" or name in public.__all__:
        return getattr(public, name)
    raise AttributeError(f"module 'tilesim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *import_module("tilesim.public").__all__]

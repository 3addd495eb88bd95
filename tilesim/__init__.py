"""tilesim: discrete-event simulation of multi-tile neural-network accelerators that carry the real data.

Its names are those of `tilesim.public`, which is imported when the first of them is asked for: the program ``tilesim``
begins here, and has to be ready for Ctrl-C before anything takes time, be it the import of ``typing``.
"""

TYPE_CHECKING = False  # to type checkers it is true

if TYPE_CHECKING:
    from tilesim.public import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module
        from importlib.util import find_spec

        if name.isidentifier() and find_spec(f"tilesim.{name}"):  # a module, which does not take all of the rest
            return import_module(f"tilesim.{name}")
        public = import_module("tilesim.public")
        if name == "__all__" or name in public.__all__:
            return getattr(public, name)
        raise AttributeError(f"module 'tilesim' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __getattr__("__all__")

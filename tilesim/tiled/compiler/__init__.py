"""From a network to a program for one chip."""

from tilesim.tiled.compiler.compile import compile_network

__all__ = ["compile_network"]

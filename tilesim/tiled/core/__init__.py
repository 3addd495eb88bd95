"""The timing core: the cycles of a program, by a compiled loop over the tables of :mod:`tilesim.tiled.flat`."""

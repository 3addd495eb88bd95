"""The DMA engines of a tile, and the links of the mesh."""

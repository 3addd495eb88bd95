"""The data ring: stops, packets, the roles of a tile on it, and what watches it."""

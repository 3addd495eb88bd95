"""What is proven of the instructions of one tile: bytes, order, waits."""

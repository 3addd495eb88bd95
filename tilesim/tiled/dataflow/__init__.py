"""What a program does to the bytes of all tiles, in the order of the timing core's log: no layer, no network."""

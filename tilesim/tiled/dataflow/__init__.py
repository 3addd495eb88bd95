"""What a program does to the bytes of all tiles, in the order that the timing core's log gives: no layer, no network."""

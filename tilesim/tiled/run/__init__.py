"""A program run on the chip that it was made for: start, watch, count, read out."""

"""A program run on the machine that it was made for: start, watch, count, read out."""

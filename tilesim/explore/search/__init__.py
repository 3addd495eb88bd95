"""The best points of a space, found with few runs."""

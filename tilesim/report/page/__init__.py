"""The page that a browser shows of a run: one file with all that it needs in it."""

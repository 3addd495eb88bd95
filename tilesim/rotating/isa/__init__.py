"""A program of the rotating machine: what it is, how it is spelt, what no hardware could run."""

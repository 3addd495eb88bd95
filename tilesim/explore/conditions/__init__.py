"""Conditions over keys, options and measures: expressions that are worth something, and nothing else."""

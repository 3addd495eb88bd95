"""The commands, one a file: what each is told, and what it says."""

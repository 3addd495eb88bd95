"""Which points there are: a design space, in words, in a file, or as Python has it."""

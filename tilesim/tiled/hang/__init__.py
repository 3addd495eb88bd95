"""Who waits when nothing can happen any more, and what in the program that comes from."""

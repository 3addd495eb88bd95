"""From a network to a program for one chip."""

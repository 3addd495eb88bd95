"""From a network to a program for the rotating machine."""

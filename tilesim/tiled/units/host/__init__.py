"""The host interface, with infeed and outfeed."""

"""What instructions do to words, without time."""

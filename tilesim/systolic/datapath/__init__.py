"""What instructions do to the memories, without time: units read when they begin, and write when they retire."""

"""Which waits and fences make a refuted program proven: candidates by rule, a search among them, runs to compare."""

"""Changes of a line of the core that change nothing, and why not: they are drawn, and not tried."""

EQUIVALENT: dict[str, str] = {}

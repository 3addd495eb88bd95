"""What is said where the core can't be had; a module that needs nothing, for builds that have nothing yet."""


class NoCompiler(Exception):
    """There is no core, and nothing to make it with."""


class SwitchedOff(NoCompiler):
    """Nobody wants a core."""

"""A laboratory for the masters of the ring: bare transfers become a program, which the ordinary checker judges and the
ordinary hardware runs. It has no rules of its own.

`scenario` is what a user writes, `assembly` makes the program of it, `verdicts` says what is proven of that, and
`passages` which rows pass which nodes when; `trial` has all of it. `suite` reads the cases that come with tilesim.
"""

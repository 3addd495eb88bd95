"""Networks whose maps are too large for a chip, computed band by band: rows of their inputs come from the host, go
through several layers, and rows of what these make go back to it.
"""

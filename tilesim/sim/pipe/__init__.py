"""Groups of memory accesses on their way through an engine: read, queue, write; and who gets the ports."""

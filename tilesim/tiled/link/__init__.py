"""Programs of several inferences and networks, linked into one."""

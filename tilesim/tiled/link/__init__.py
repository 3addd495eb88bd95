"""Programs of several inferences and networks, strung together into one."""

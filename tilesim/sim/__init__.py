"""What every machine is built from: cycles, ports, pipes, flags, FIFOs, memories, accounts, and the trace."""

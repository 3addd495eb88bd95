"""What units are made from: the clock, memories and their ports, FIFOs, flags, and the account of their cycles."""

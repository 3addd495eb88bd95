"""What is proven of the transfers on the ring: their order, their rows, their masters."""

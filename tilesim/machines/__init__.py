"""What every machine keeps: the contract with the rest of the house, and what their simulations share."""

"""The controller and the instruction bus."""

"""What the rows of a sweep say together: how networks scale, what is lost on the way, what is best."""

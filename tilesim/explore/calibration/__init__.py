"""Published points against simulated ones: the table, what each of its lines runs, what fits keys to some of them."""

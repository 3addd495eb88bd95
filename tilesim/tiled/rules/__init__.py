"""What a program must keep to, proven before it runs, in layers of which each imports only those below it.

Lowest is `tile`: the instructions of one tile, what they touch and in what order; then `untimed`: the chip without
time; then `ring`: the transfers, their order and their masters; and `proof`, which asks all of them.
"""

"""From a network to a program: what runs where and when, what lies where, and who waits for whom."""

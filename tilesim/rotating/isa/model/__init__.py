"""What a program is: instructions, and everything that goes with them."""

"""What a program is: instructions, data and host tensors."""

"""What a program is: instructions, their fields and nests, data and host tensors."""

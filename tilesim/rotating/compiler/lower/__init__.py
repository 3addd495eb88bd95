"""How each family of operators becomes instructions, a file each."""

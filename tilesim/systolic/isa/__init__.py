"""What passes between the compiler and the units: instructions and programs."""

"""Static checks of a program: what no hardware could run, found before the run."""

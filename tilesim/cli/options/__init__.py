"""What several commands have in common on the command line: options, and what their words stand for."""

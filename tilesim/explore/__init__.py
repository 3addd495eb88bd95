"""Many runs: which points there are, who runs them, where their rows are kept, and the search for the best."""

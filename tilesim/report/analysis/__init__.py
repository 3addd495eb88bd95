"""Numbers behind the pictures of a run: from its statistics and its trace alone, the same for page and paper."""

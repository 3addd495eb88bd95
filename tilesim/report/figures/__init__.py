"""Pictures of a run for papers, by matplotlib: PNG and SVG, from the same numbers as the page."""

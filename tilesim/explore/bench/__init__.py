"""What comes of a point: what decides it, digested; the run, measured; the area of its chip."""

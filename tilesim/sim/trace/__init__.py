"""Who did what when, and what let each stall end."""

"""Who runs points: this process, workers of this machine, or those of a cluster."""

"""The tensor engine: TTU, MAC array and activation unit under one control."""

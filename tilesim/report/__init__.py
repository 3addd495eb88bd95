"""What people see of a run; everything here derives from its statistics."""

"""What a program must keep to, proven before it runs."""

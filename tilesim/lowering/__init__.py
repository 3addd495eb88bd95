"""What the compilers of all machines do alike, before anything is a machine's own."""

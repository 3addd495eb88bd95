"""One operator a file: golden operators to tensorops."""

"""One operator family a file: golden operators to instructions."""

"""Which parameters stay in the tiles' wide memories between inferences, and in which: pure decisions about bytes."""

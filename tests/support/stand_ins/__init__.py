"""One module for each scheduler that is played, and the queue that they share."""

"""What changed between two versions of a data set, and which stored scores still hold."""

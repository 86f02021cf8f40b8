"""We-Math, and its four dimensions of mastery."""

"""One file per command. Parse the arguments, call one function of `api`, print."""

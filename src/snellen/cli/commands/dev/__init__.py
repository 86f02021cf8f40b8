"""`snellen dev ACTION`: for those who work on Snellen's sources."""

ACTIONS = {"new-benchmark": "write the files of a new benchmark, with a failing test"}

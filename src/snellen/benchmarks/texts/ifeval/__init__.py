"""IFEval: its checks, one for each kind of instruction, and how they are counted."""

"""MM-IFEval. The benchmark, its rows, and what its judges say."""

"""SEED-Bench, versions 1 to H. The benchmark, its levels, its rows, image answers and scores."""

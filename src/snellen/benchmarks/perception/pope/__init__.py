"""POPE. The benchmark, its scores and their intervals."""

"""Creation-MMBench. The benchmark, and how its two answers are compared."""

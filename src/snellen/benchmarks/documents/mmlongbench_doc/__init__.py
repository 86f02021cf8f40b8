"""MMLongBench-Doc. The benchmark, and its accuracy and F1."""

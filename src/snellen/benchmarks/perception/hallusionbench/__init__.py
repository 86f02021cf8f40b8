"""HallusionBench. The benchmark, and its authors' judge."""

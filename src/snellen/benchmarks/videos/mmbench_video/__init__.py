"""MMBench-Video. The benchmark, and its authors' prompts."""

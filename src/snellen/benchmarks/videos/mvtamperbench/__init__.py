"""MVTamperBench. The benchmark, and how well tampering is detected."""

"""Many abilities in one benchmark: MMBench, MME, MMT-Bench, SEED-Bench and their like."""

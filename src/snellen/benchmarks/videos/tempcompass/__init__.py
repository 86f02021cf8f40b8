"""TempCompass. The benchmark, and how its four tasks are asked and judged."""

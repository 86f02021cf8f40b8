"""MMT-Bench. The benchmark, its prompting variants, its task hierarchy and its scores."""

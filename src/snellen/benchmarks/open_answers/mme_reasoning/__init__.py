"""MME-Reasoning, and the checks of puzzles with several right answers."""

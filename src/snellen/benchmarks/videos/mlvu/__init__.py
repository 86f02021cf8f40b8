"""MLVU. The multiple-choice tasks, and the two open tasks with their judge."""

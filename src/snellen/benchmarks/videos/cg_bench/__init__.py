"""CG-Bench. Rows and prompts, the choices with their clues, and the open questions."""

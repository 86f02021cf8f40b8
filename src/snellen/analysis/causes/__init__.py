"""Why two runs differ. The difference split by cause, and the samples that show it."""

"""OCRBench v2: its tasks, how a reply is graded in each, and the means over abilities and languages."""

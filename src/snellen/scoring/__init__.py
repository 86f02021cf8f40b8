"""From answers and records to scores: one formula per file, with paper and section.

What is here is known by its name in the field (BLEU, ANLS, VQA accuracy) or used by several
benchmarks; the formula of a single benchmark stands beside it. Which of them a benchmark reports is
declared in `benchmarks`; intervals and tests live in `stats`.
"""

"""Parse replies into answers: choices, yes or no, numbers, free text, and the verdicts of judges.

Whether an answer is right is decided in `scoring`; which parser a benchmark uses, in `benchmarks`.
"""

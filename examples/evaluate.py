"""Snellen from Python: two models on one benchmark, how they differ, and what was wrong."""

import snellen

results = snellen.evaluate(["random", "random:seed=1"], "my_questions.tsv", out="from-python")
print(results)
for run in results:
    print(f"{run.model}: {run.score:.1f} % of {run.n}")
    print(f"  between {run.interval.low:.1f} and {run.interval.high:.1f}")
    for sample in run.samples().wrong:
        print(f"  {sample.id}: said {sample.reply!r}, expected {sample.gold[0]}")
print(results.compare())

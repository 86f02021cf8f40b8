"""Snellen from Python: two models on one benchmark, and what was wrong."""

import snellen

results = snellen.evaluate(
    models=["random", "random:seed=1"],
    benchmarks=["my_questions.tsv"],
    out="from-python",
)
for run in results.runs:
    summary = run.report().summary
    interval = summary.headline.interval
    print(f"{run.info.model}: {summary.headline.value:.1f} % of {summary.n}")
    print(f"  between {interval.low:.1f} and {interval.high:.1f} at {interval.level:.0%}")
    for record in run.records():
        if record.score == 0.0:
            print(f"  {record.id}: said {record.answer}, expected {record.gold[0]}")

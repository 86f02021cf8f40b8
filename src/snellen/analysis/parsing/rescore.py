"""Score recorded replies of a finished run again, by another rule or against other gold answers,
without asking a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.core.benchmark import Benchmark
from snellen.core.output import Output
from snellen.core.record import Pass, Record, run_flow
from snellen.core.request import Request
from snellen.core.sample import Sample
from snellen.core.summary import FailurePolicy
from snellen.engine.loop.request_broker import MAIN
from snellen.scoring.accuracy import counted_score


class _NotStored(Exception):
    """The flow requests something that the record does not contain."""


def rescore_records(benchmark: Benchmark, records: Mapping[str, Record], policy: FailurePolicy) -> dict[str, float]:
    """Scores of the replies in `records` under a benchmark, by sample id. Left out are samples that
    the benchmark does not score, or for which it requests more than the records contain, such as
    another rotation of the options or a judge."""
    scores_by_id: dict[str, float] = {}
    for sample in benchmark.samples(benchmark.open()):
        record = records.get(sample.id)
        if record is None or not record.passes:
            continue
        draws = [record.passes, *(draw.passes for draw in record.repeats[1:])]
        try:
            rescored = [_replay_passes(benchmark, sample, passes) for passes in draws]
        except _NotStored:
            continue
        scores = [counted_score(record_again, policy) for record_again in rescored]
        counted = [score for score in scores if score is not None]
        if len(counted) == len(draws):
            scores_by_id[sample.id] = sum(counted) / len(counted)
    return scores_by_id


def _replay_passes(benchmark: Benchmark, sample: Sample, passes: Sequence[Pass]) -> Record:
    """Run a sample's flow with the outputs of these passes, in order."""
    outputs = iter([one_pass.output for one_pass in passes])

    def next_stored_output(request: Request) -> Output:
        output = next(outputs, None) if request.to == MAIN else None
        if output is None:
            raise _NotStored
        return output

    return run_flow(benchmark.flow(sample), next_stored_output)

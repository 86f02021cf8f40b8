"""What `score` returns: the numbers of recorded predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from snellen.api.options import DEFAULT_OUT
from snellen.api.results import Run, SampleResult, Samples
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.run import DataInfo, Report, RunInfo
from snellen.core.summary import Interval, Summary
from snellen.store.runs import write_recorded_run

if TYPE_CHECKING:
    from snellen.analysis.parsing.labelled_replies import LabelComparison


class Scored(NamedTuple):
    """The numbers of recorded predictions. `warnings` are about the predictions file.

    Can be pickled; a copy's `benchmark` has its facts, and its functions raise UsageError."""

    benchmark: Benchmark
    summary: Summary
    warnings: tuple[str, ...]
    records: Sequence[Record] = ()
    data: DataInfo | None = None
    """The source of the questions and gold answers."""
    readings: LabelComparison | None = None
    """How parsing agrees with human labels, if labels were named."""
    run: RunInfo | None = None
    """The predictions as a run of their own, for the tables of runs: its model is the name of the
    file, or that of the call."""
    digest: str = ""
    """SHA-256 (hex) of the predictions."""

    def __reduce__(self) -> tuple[Any, ...]:
        benchmark = _without_functions(self.benchmark)
        return Scored, tuple(self._replace(benchmark=benchmark))

    @property
    def score(self) -> float | None:
        """The headline, mostly a percentage; None if nothing could be scored."""
        return self.summary.headline.value

    @property
    def interval(self) -> Interval | None:
        """The confidence interval of the score."""
        return self.summary.headline.interval

    @property
    def n(self) -> int:
        """Samples in the score."""
        return self.summary.headline.n

    def samples(self) -> Samples:
        """The samples with their verdicts, without images."""
        return Samples(map(SampleResult, self.records))

    def __repr__(self) -> str:
        from snellen.report.console import printed_text
        from snellen.report.documents.run_document import run_document
        from snellen.report.writers.terminal import print_document

        document = run_document([self.report], judges_measured=self.readings is not None)
        table = printed_text(lambda console: print_document(document, console))
        return "\n".join([table, *self.warnings])

    def _repr_html_(self) -> str:
        from snellen.report.notebook.tables import RunWithPage, runs_html

        return runs_html([RunWithPage(self.report, None)], self.warnings)

    def save(self, out: Path | str = DEFAULT_OUT, *, html: bool = True) -> Run:
        """Write the predictions as a run folder in `out`, which every command on runs takes.

        The same predictions scored the same way again replace it. Raises RunLocked, StorageError.
        """
        from snellen.report.page.html import write_html

        folder = write_recorded_run(Path(out), self.report.run, self.summary, self.records)
        if html:
            write_html(folder)
        return Run(folder.path)

    @property
    def report(self) -> Report:
        """The numbers as the report of a run. Raises ValueError if `run` is not set."""
        if self.run is None:
            raise ValueError("these numbers belong to no predictions file")
        return Report(self.run, self.summary)


def _without_functions(benchmark: Benchmark) -> Benchmark:
    """The benchmark without open data and closures, which cannot be pickled."""
    functions: dict[str, Any] = {
        field.name: _refuse_call for field in fields(benchmark) if callable(getattr(benchmark, field.name))
    }
    return replace(benchmark, **functions, options=dict(benchmark.options), parameters=dict(benchmark.parameters))


def _refuse_call(*_: object) -> NoReturn:
    raise UsageError("a copied Scored has the facts of its benchmark and no data; call snellen.score again")

"""Runs for Python code: numbers, samples with their images, tables for notebooks, data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from snellen.api.flags import FORMATS
from snellen.api.frames import RowExport, Rows
from snellen.api.report import report_of
from snellen.core.errors import UnknownName, UsageError
from snellen.core.output import OUTCOMES, Failure
from snellen.core.record import Record, every_pass
from snellen.core.run import Report
from snellen.core.summary import Interval, Summary
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image as PILImage

    from snellen.api.comparing import Comparison
    from snellen.api.run_images import RunImages
    from snellen.engine.servers.managed import LostServer
    from snellen.report.document import Document

PAGE = "report.html"
_SHOWN_SAMPLES = 10


class SampleResult:
    """One finished sample of a run: what was asked, replied and read."""

    def __init__(self, record: Record, images: RunImages | None = None) -> None:
        """Without `images`, the sample's images are unavailable."""
        self.record = record
        """Everything that is stored about the sample."""
        self._images = images

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def question(self) -> str:
        return self.record.question

    @property
    def options(self) -> dict[str, str]:
        return dict(self.record.options)

    @property
    def gold(self) -> tuple[str, ...]:
        """The accepted answers; empty if the data have none."""
        return self.record.gold

    @property
    def prompt(self) -> str:
        """The first prompt as text, with `[image]` where media stand."""
        from snellen.report.notebook.samples import prompt_text

        return prompt_text(self.record.passes[0]) if self.record.passes else ""

    @property
    def reply(self) -> str | None:
        """The reply as the model gave it, to the first pass if there are several; None if it
        failed or gave no text."""
        from snellen.report.notebook.samples import reply_text

        passes = self.record.passes
        if not passes or isinstance(passes[0].output, Failure):
            return None
        return reply_text(passes[0])

    @property
    def failure(self) -> str | None:
        """Why the request failed; None if it did not."""
        outputs = (turn.output for turn in every_pass(self.record))
        return next((output.message for output in outputs if isinstance(output, Failure)), None)

    @property
    def answer(self) -> str | None:
        """What the reply means; None if no answer was found in it."""
        return self.record.answer

    @property
    def outcome(self) -> str:
        return self.record.outcome

    @property
    def verdict(self) -> str:
        """`right`, `wrong`, `partly right`, or why there is no score."""
        from snellen.report.notebook.samples import verdict_text

        return verdict_text(self.record)

    @property
    def score(self) -> float | None:
        """From 0 to 1; None if it was not scored."""
        return self.record.score

    @property
    def groups(self) -> dict[str, str]:
        return dict(self.record.groups)

    @property
    def images(self) -> list[PILImage]:
        """The images of the prompt that are still available, as in the data."""
        from snellen.core.media import decode_image

        images = self._images
        if images is None:
            return []
        originals = (images.original(digest, self.id) for digest in self.record.media)
        return [decode_image(data) for data in originals if data is not None]

    @property
    def tokens(self) -> int | None:
        """Tokens of all replies to the question, reasoning included; None if not counted."""
        return self._usage("completion_tokens")

    @property
    def prompt_tokens(self) -> int | None:
        return self._usage("prompt_tokens")

    @property
    def latency(self) -> float | None:
        """Seconds of all requests for the question; None if not measured."""
        seconds = [getattr(turn.output, "seconds", None) for turn in every_pass(self.record)]
        measured = [value for value in seconds if value is not None]
        return sum(measured) if measured else None

    def to_dict(self) -> dict[str, Any]:
        """The sample as a row of a data frame."""
        return {
            "id": self.id,
            "kind": self.record.kind,
            "question": self.question,
            "options": self.options,
            "gold": list(self.gold),
            "reply": self.reply,
            "answer": self.answer,
            "outcome": self.outcome,
            "score": self.score,
            "tokens": self.tokens,
            "prompt_tokens": self.prompt_tokens,
            "latency": self.latency,
            "failure": self.failure,
            "groups": self.groups,
        }

    @property
    def metadata(self) -> dict[str, str]:
        """Columns of the user's data that were neither asked nor scored."""
        return dict(self.record.metadata)

    def __repr__(self) -> str:
        from snellen.analysis.samples.graded_answers import graded_answer_text
        from snellen.core.answer_text import answer_texts

        question = " ".join(self.question.split())
        is_wrong = self.score is not None and self.score < 1 and self.gold
        kind = self.record.kind
        gold = f", expected {' or '.join(map(repr, answer_texts(self.gold, kind)))}" if is_wrong else ""
        answer = None if self.answer is None else graded_answer_text(self.answer, self.record)
        return f"<{self.id}: {question[:80]!r}, answer {answer!r}{gold}, {self.verdict}>"

    def _repr_html_(self) -> str:
        from snellen.report.notebook.samples import sample_html

        return sample_html(self.record, self._thumbnail)

    def _thumbnail(self, digest: str) -> bytes | None:
        return self._images.thumbnail(digest, self.id) if self._images is not None else None

    def _usage(self, name: str) -> int | None:
        usages = [getattr(turn.output, "usage", None) for turn in every_pass(self.record)]
        counts = [getattr(usage, name) for usage in usages if usage is not None]
        return sum(counts) if counts else None


class Samples(RowExport, Sequence[SampleResult]):
    """The samples of a run, in the order of the data.

    By position or by id: `samples[0]`, `samples["17"]`.
    """

    def __init__(self, samples: Iterable[SampleResult]) -> None:
        self._samples = list(samples)

    def __len__(self) -> int:
        return len(self._samples)

    @overload
    def __getitem__(self, key: int | str) -> SampleResult: ...
    @overload
    def __getitem__(self, key: slice) -> Samples: ...
    def __getitem__(self, key: int | str | slice) -> SampleResult | Samples:
        """Raises UnknownName for an id that no sample has, and IndexError."""
        if isinstance(key, slice):
            return Samples(self._samples[key])
        if isinstance(key, int):
            return self._samples[key]
        for sample in self._samples:
            if sample.id == key:
                return sample
        raise UnknownName("sample", key, [sample.id for sample in self._samples])

    def where(self, condition: Callable[[SampleResult], object]) -> Samples:
        """The samples for which `condition` is true: `samples.where(lambda s: s.score == 0)`."""
        return Samples(sample for sample in self._samples if condition(sample))

    @property
    def wrong(self) -> Samples:
        """The samples that were scored and did not get the full score."""
        return self.where(lambda sample: sample.score is not None and sample.score < 1)

    def to_dicts(self) -> Rows:
        """The samples as rows; groups and other columns of the data are columns of their own."""
        rows = [sample.to_dict() for sample in self._samples]
        cells = [{**sample.groups, **sample.metadata} for sample in self._samples]
        for name in dict.fromkeys(chain.from_iterable(cells)):
            column = f"{name} (data)" if rows and name in rows[0] else name
            for row, data in zip(rows, cells, strict=True):
                row[column] = data.get(name)
        return rows

    def __repr__(self) -> str:
        lines = [repr(sample) for sample in islice(self._samples, _SHOWN_SAMPLES)]
        if len(self) > _SHOWN_SAMPLES:
            lines.append(f"... {len(self):,} samples")
        return "\n".join(lines) or "no samples"

    def _repr_html_(self) -> str:
        from snellen.report.notebook.samples import samples_html

        shown = self._samples[:_SHOWN_SAMPLES]
        media = {digest: sample for sample in shown for digest in sample.record.media}

        def thumbnail(digest: str) -> bytes | None:
            return media[digest]._thumbnail(digest)

        return samples_html([sample.record for sample in shown], len(self), thumbnail)


class Run(RunFolder):
    """A run: a model on a benchmark, with its numbers and samples."""

    @property
    def model(self) -> str:
        """The model as it was named."""
        return self.info.model

    @property
    def benchmark(self) -> str:
        return self.info.benchmark

    @property
    def status(self) -> str:
        """`complete`, `incomplete` (samples failed), `interrupted` or `running`."""
        return self.info.status

    @property
    def summary(self) -> Summary:
        """All numbers: headline, further metrics, groups, outcomes."""
        return self._full_report.summary

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

    @property
    def page(self) -> Path | None:
        """The run's `report.html`; None if it was not written."""
        page = self.path / PAGE
        return page if page.is_file() else None

    def samples(self) -> Samples:
        """The samples, also those that failed, in the order of the data. Raises UsageError if the
        folder is gone."""
        self._check_folder()
        from snellen.api.run_images import RunImages

        images = RunImages(self)
        records = sorted(chain(self.records(), self.failures()), key=_position)
        return Samples(SampleResult(record, images) for record in records)

    def to_dict(self) -> dict[str, Any]:
        """The run as a row of a data frame."""
        from snellen.analysis.comparison.deviations import deviations

        headline, interval = self.summary.headline, self.interval
        return {
            "model": self.model,
            "benchmark": self.benchmark,
            "metric": headline.name,
            "score": headline.value,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
            "level": interval.level if interval else None,
            "n": headline.n,
            "total": self.summary.total,
            "setting": "; ".join(each.label for each in deviations(self.info)),
            **{name: self.summary.outcomes.get(name, 0) for name in OUTCOMES},
            "status": self.status,
            "created": self.info.created,
            "path": str(self.path),
        }

    def _check_folder(self) -> None:
        """Raises UsageError if the folder was deleted or moved: without its files, it would look
        like a run without samples."""
        if not self.path.is_dir():
            raise UsageError(
                f"{self.path} is no longer there; open the run where it is now: snellen.open_run('FOLDER')"
            )

    @cached_property
    def _full_report(self) -> Report:
        self._check_folder()
        return report_of(self)

    def __repr__(self) -> str:
        return _runs_text([self], _failures([self]))

    def _repr_html_(self) -> str:
        return _runs_html([self], _failures([self]))


class GroupScores(RowExport):
    """The scores of runs by group, a row for each group of each grouping, such as `category`."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = list(runs)

    def to_dicts(self) -> Rows:
        return [
            {
                "run": run.name,
                "model": run.model,
                "benchmark": run.benchmark,
                "metric": metric.name,
                "column": column,
                "group": group,
                "value": metric.value,
                "low": metric.interval.low if metric.interval else None,
                "high": metric.interval.high if metric.interval else None,
                "n": metric.n,
            }
            for run in self._runs
            for column, metrics in run.summary.groups.items()
            for group, metric in metrics.items()
        ]

    def __len__(self) -> int:
        return len(self.to_dicts())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())


class SkippedRun(NamedTuple):
    """A model that cannot take a benchmark, with the reason."""

    model: str
    benchmark: str
    reason: str


class Results(RowExport):
    """The runs of one call, or of a folder.

    Iterate over it; or take one: `results[0]`, `results["MODEL", "BENCHMARK"]`. A single name, of a
    model or a benchmark, selects the only run that has it.
    """

    def __init__(
        self, runs: Iterable[Run] = (), skipped: Iterable[SkippedRun] = (), lost: Iterable[LostServer] = ()
    ) -> None:
        self.runs = list(runs)
        self.skipped = list(skipped)
        """Models that could not take a benchmark."""
        self.lost = list(lost)
        """Servers started by Snellen that exited while they were needed."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raises AttributeError, which says where an attribute of a run is found."""
            where = f": each run has it, as in results[0].{name}" if hasattr(Run, name) else ""
            raise AttributeError(f"'Results' object has no attribute {name!r}{where}", name=name, obj=self)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @overload
    def __getitem__(self, key: int | str | tuple[str, str]) -> Run: ...
    @overload
    def __getitem__(self, key: slice) -> Results: ...
    def __getitem__(self, key: int | str | tuple[str, str] | slice) -> Run | Results:
        """Raises UnknownName if no run has the names, UsageError if several have, IndexError."""
        if isinstance(key, slice):
            return Results(self.runs[key])
        if isinstance(key, int):
            return self.runs[key]
        names = (key,) if isinstance(key, str) else tuple(key)
        named = [run for run in self.runs if _has_names(run, names)]
        if len(named) == 1:
            return named[0]
        if named:
            folders = ", ".join(run.name for run in named)
            raise UsageError(
                f"{len(named)} runs have the name {' on '.join(names)}; take one by "
                f"results[MODEL, BENCHMARK], by its folder or by its position: {folders}"
            )
        known = [name for run in self.runs for name in (run.model, run.benchmark)]
        raise UnknownName("run", " on ".join(names), dict.fromkeys(known))

    def compare(self, **options: Any) -> Comparison:
        """The differences between the runs; see `snellen.compare`."""
        from snellen.api.comparing import compare

        return compare(self, **options)

    def to_dicts(self) -> Rows:
        """One row a run."""
        return [run.to_dict() for run in self.runs]

    @property
    def groups(self) -> GroupScores:
        """The scores by group, e.g. by category: `results.groups.to_pandas()`."""
        return GroupScores(self.runs)

    def to_text(self, format: str = "markdown") -> str:
        """The tables of `snellen report --format`: `markdown`, `latex`, `csv`, `json`, `html`, or
        `table` as on a terminal. Raises UsageError for another format."""
        from snellen.report.writers import write_text

        if format not in FORMATS:
            raise UsageError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
        return write_text(self._document(), format)

    def plot(self) -> Figure:
        """The scores with their intervals as a matplotlib figure: `results.plot().savefig(FILE)`.
        Raises MissingExtra without matplotlib."""
        from snellen.report.plots.figure import fit_to_content
        from snellen.report.plots.series import results_plot

        return fit_to_content(results_plot(self._reports()))

    def _document(self) -> Document:
        from snellen.report.documents.run_document import run_document

        return run_document(self._reports())

    def _reports(self) -> list[Report]:
        """Raises UsageError without runs."""
        if not self.runs:
            raise UsageError("there are no runs")
        return [run._full_report for run in self.runs]

    def __repr__(self) -> str:
        text = _runs_text(self.runs, self._remarks())
        return text or "no runs"

    def _repr_html_(self) -> str:
        return _runs_html(self.runs, self._remarks())

    def _remarks(self) -> list[str]:
        """Sentences below the table."""
        skipped = [f"skipped: {each.reason}" for each in self.skipped]
        reused = (run.info.reused.sentence(f"{run.model} on {run.benchmark}", again="fresh=True") for run in self.runs)
        return [*_failures(self.runs), *skipped, *filter(None, reused), *map(str, self.lost)]


def _position(record: Record) -> float:
    return inf if record.position is None else record.position


def _has_names(run: Run, names: tuple[str, ...]) -> bool:
    """Whether a run has this name, or these names of model and benchmark in any order."""
    if len(names) == 1:
        return names[0] in (run.model, run.benchmark, run.name)
    return names in ((run.model, run.benchmark), (run.benchmark, run.model))


def _runs_text(runs: Sequence[Run], remarks: Sequence[str] = ()) -> str:
    """The table of `snellen run`, then a line for each run and the remarks."""
    from snellen.report.console import printed_text
    from snellen.report.documents.run_document import run_document
    from snellen.report.writers.terminal import print_document

    there, gone = _split_gone(runs)
    parts = []
    if there:
        reports = [run._full_report for run in there]
        document = run_document(reports)
        parts.append(printed_text(lambda console: print_document(document, console)))
        parts += [f"report: {run.page}" if run.page else f"run: {run.path}" for run in there]
    return "\n".join([*parts, *gone, *remarks])


def _runs_html(runs: Sequence[Run], remarks: Sequence[str] = ()) -> str:
    from snellen.report.notebook.tables import RunWithPage, runs_html

    there, gone = _split_gone(runs)
    shown = [RunWithPage(run._full_report, run.page) for run in there]
    return runs_html(shown, [*gone, *remarks])


def _split_gone(runs: Iterable[Run]) -> tuple[list[Run], list[str]]:
    """The runs whose numbers can be shown, and a sentence about each of the others, so that a
    notebook cell never fails as a whole."""
    there, sentences = [], []
    for run in runs:
        try:
            run._full_report  # noqa: B018 - read once, and kept
        except UsageError as error:
            sentences.append(f"{run.model} on {run.benchmark}: {error}")
        else:
            there.append(run)
    return there, sentences


def _failures(runs: Sequence[Run]) -> list[str]:
    """Why samples failed, the most frequent reasons first."""
    from snellen.report.documents.run_document import named_failure_lines

    return list(named_failure_lines(runs))

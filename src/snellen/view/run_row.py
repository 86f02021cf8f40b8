"""A run on the first page: one row, made of `run.json` and `report.json` alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.comparability import EXTENT, STOPPED, extent_asked, run_facts
from snellen.analysis.comparison.deviations import DEVIATION_MEANINGS, DEVIATION_TITLES, deviations
from snellen.core.errors import StorageError
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.store.annotations import merge_changes, read_changes
from snellen.store.runs import REPORT_FILE, RUN_FILE, SAMPLES_FILE, recover_spent

DAMAGED = "damaged"
"""Status of a folder whose `run.json` cannot be read."""
SETTING_TITLES = {**DEVIATION_TITLES, "metric": "metric", "withheld": "no score", "imported": "replies of another tool"}
"""Titles of everything by which two cells of a column may not be comparable, and of the flags."""

FLAG_MEANINGS = {
    **DEVIATION_MEANINGS,
    "withheld": "no number: too many samples have no score",
    "imported": "replies that another tool had asked for",
}
"""What each flag means, for the legend."""
_FACT_CODES = {
    "limit": "limit",
    "seed": "limit",
    "until": "until",
    "samples asked": "extent",
    "examples": "shots",
    "shots=": "shots",
    "shots_seed=": "shots",
    "shots_from=": "shots",
    "recipe=": "prompt",
    "prompt=": "prompt",
    "system=": "system",
    "prompt_digest=": "prompt",
    "cot=": "thinking",
    "cot_digest=": "thinking",
    "control=": "control",
    "circular=": "circular",
    "rule=": "rule",
    "rule_commit=": "rule",
    "reading=": "rule",
    "normalisation=": "rule",
    "extractor": "extractor",
    "version": "version",
    "data": "data",
    "failures": "failures",
    "repeats": "repeats",
}
"""Facts of `run_facts` to keys of `SETTING_TITLES`; other parameters are `options`, other roles
`judge` or `roles`."""
_PLAIN_FACTS = frozenset({"none", "all samples"})
_MAX_METRICS = 24
"""Metrics that a row keeps, for members of suites that count by them."""
_MAX_NOTES, _MAX_NOTE = 50, 200
"""Notes of a run that are searched on the first page, and their characters."""


class CatalogRow(Struct, frozen=True, array_like=True, gc=False):
    """A run in the matrix, the list and the board. Texts are ready to be displayed."""

    name: str
    """Name of the folder."""
    model: str
    benchmark: str
    status: str
    provider: str = ""
    title: str = ""
    source: str = ""
    """Name of the data file of a user's own benchmark: several may have one benchmark name."""
    created: str = ""
    finished: str = ""
    metric: str = ""
    unit: str = "percent"
    top: float = 100.0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: str = ""
    n: int = 0
    samples: int = 0
    done: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: str = ""
    setting: tuple[tuple[str, str], ...] = ()
    """Key of `SETTING_TITLES` and text: two runs of a benchmark are comparable if these are
    equal."""
    identity: tuple[tuple[str, str], ...] = ()
    """Everything about the model that can change a reply: two runs that name one model may
    differ in it."""
    flags: tuple[tuple[str, str, str], ...] = ()
    """How the run differs from the plain setting: key, label, sentence."""
    baselines: dict[str, float] = {}
    metrics: dict[str, float] = {}
    """Percentages of all metrics: a suite may count by another than the headline."""
    flagged: int = 0
    """Samples and replies that a person flagged."""
    labels: tuple[str, ...] = ()
    """Labels that people gave to samples and replies of the run."""
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why the folder cannot be read, or its number not computed."""
    version: str = ""
    """Of the benchmark."""
    money: dict[str, float] = {}
    """What its requests cost, by currency."""
    size: int = 0
    """Bytes of the folder."""
    outcomes: dict[str, int] = {}
    """Samples by outcome, of a run that has ended."""

    def facts(self) -> dict[str, str | float | None]:
        """What other programs read of a run, and what runs are chosen by: a value for each of
        `store.run_catalog_file.RUN_COLUMNS`."""
        currency, cost = next(iter(self.money.items())) if len(self.money) == 1 else ("", None)
        return {
            **{name: getattr(self, name) for name in ("model", "benchmark", "version", "status", "metric", "created")},
            **{name: getattr(self, name) for name in ("finished", "low", "high", "n", "samples", "done")},
            "setting": "; ".join(label for _, label, _ in self.flags),
            "score": self.value,
            "cost": cost,
            "currency": currency,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "bytes": self.size,
        }

    @property
    def is_live(self) -> bool:
        """Whether the run's status is running; it may have been killed."""
        return self.status == "running"

    @property
    def is_unfinished(self) -> bool:
        """Whether samples may still be added, or the run was killed."""
        return self.status in ("running", "interrupted")


class _StoredSummary(Struct):
    """The fields of `report.json` that a row requires; the others are not decoded."""

    headline: Metric
    metrics: dict[str, Metric]
    outcomes: dict[str, int] = {}


class _StoredReport(Struct):
    summary: _StoredSummary


_decode_info = msgspec.json.Decoder(RunInfo).decode
_decode_report = msgspec.json.Decoder(_StoredReport).decode


def read_row(folder: Path) -> CatalogRow:
    """Read the row of a run folder. A folder that cannot be read gets a row that says why.

    A run that has not ended has no score in its row: `with_score` adds it.
    """
    try:
        info = _decode_info((folder / RUN_FILE).read_bytes())
    except OSError as error:
        return _damaged_row(folder, f"{RUN_FILE} cannot be read: {error.strerror or error}")
    except msgspec.DecodeError as error:
        return _damaged_row(folder, f"{RUN_FILE} is not what Snellen writes there: {error}")
    row = _annotated_row(_described_row(folder, info), folder)
    if row.is_unfinished:
        return msgspec.structs.replace(row, done=count_lines(folder / SAMPLES_FILE, row.done))
    try:
        report = _decode_report((folder / REPORT_FILE).read_bytes())
    except FileNotFoundError:
        return msgspec.structs.replace(row, problem=f"{REPORT_FILE} is missing")
    except OSError as error:
        problem = f"{REPORT_FILE} cannot be read: {error.strerror or error}"
        return msgspec.structs.replace(row, problem=problem)
    except msgspec.DecodeError as error:
        problem = f"{REPORT_FILE} is not what Snellen writes there: {error}"
        return msgspec.structs.replace(row, problem=problem)
    row = msgspec.structs.replace(row, outcomes=report.summary.outcomes)
    return _scored_row(row, report.summary.headline, report.summary.metrics)


def with_score(row: CatalogRow, report: Report) -> CatalogRow:
    """The row of a run that has not ended, with the numbers of its samples so far."""
    return _scored_row(row, report.summary.headline, report.summary.metrics)


def with_score_of(row: CatalogRow, earlier: CatalogRow) -> CatalogRow:
    """The row of a growing run, with the numbers that were computed when it had fewer samples."""
    return msgspec.structs.replace(row, **{name: getattr(earlier, name) for name in _SCORE_FIELDS})


_SCORE_FIELDS = ("metric", "unit", "top", "value", "low", "high", "level", "n", "setting", "baselines", "metrics")


def with_problem(row: CatalogRow, error: Exception) -> CatalogRow:
    """The row of a run whose samples so far cannot be summarised."""
    return msgspec.structs.replace(row, problem=str(error))


def _damaged_row(folder: Path, problem: str) -> CatalogRow:
    # The name of a run's folder says what it was: MODEL--BENCHMARK--DIGEST.
    model, _, rest = folder.name.partition("--")
    return CatalogRow(folder.name, model, rest.partition("--")[0], DAMAGED, problem=problem)


def _described_row(folder: Path, info: RunInfo) -> CatalogRow:
    """The row of a run without its numbers, made of `run.json` alone."""
    config, counts = info.config, info.counts
    origin = info.data.origin
    is_own = origin is not None and origin.kind in ("own", "predictions")
    roles = (recover_spent(folder, info.spent) if info.status == "running" else info.spent).values()
    costs = [
        (spent.price.currency, spent.cost) for spent in roles if spent.cost is not None and spent.price is not None
    ]
    money: dict[str, float] = {}
    for currency, cost in costs:
        money[currency] = money.get(currency, 0.0) + cost
    return CatalogRow(
        name=folder.name,
        model=info.model,
        benchmark=info.benchmark,
        status=info.status,
        provider=config.identity.provider,
        title=info.title,
        source=PurePath(info.data.path).name if is_own else "",
        created=info.created,
        finished=info.finished or "",
        samples=counts.samples,
        done=counts.done,
        seconds=counts.seconds,
        # Of all starts, and of every model.
        tokens=sum(spent.usage.prompt_tokens + spent.usage.completion_tokens for spent in roles),
        cost=", ".join(fmt.money(cost, currency) for currency, cost in costs),
        setting=tuple(_setting(info)),
        identity=tuple(_identity(info)),
        flags=tuple((each.key, each.label, each.sentence) for each in deviations(info)),
        version=config.version,
        money=money,
        size=folder_bytes(str(folder)),
    )


def _annotated_row(row: CatalogRow, folder: Path) -> CatalogRow:
    """The row with what people noted about the run's samples."""
    try:
        annotations = merge_changes(read_changes(folder).changes)
    except StorageError:
        # The run's own page says why.
        return row
    if not annotations:
        return row
    labels = dict.fromkeys(label for each in annotations for label in each.labels)
    notes = (each.note[:_MAX_NOTE] for each in annotations if each.note)
    return msgspec.structs.replace(
        row,
        flagged=sum(each.flag for each in annotations),
        labels=tuple(labels)[:_MAX_NOTES],
        notes=tuple(islice(notes, _MAX_NOTES)),
    )


def _setting(info: RunInfo) -> Iterator[tuple[str, str]]:
    """The facts in which comparable runs are equal, by key."""
    texts: dict[str, list[str]] = {}
    for name, value in run_facts(info).items():
        if name == "benchmark" or value in _PLAIN_FACTS:
            continue
        code = _fact_code(name, info)
        text = value if name == EXTENT else f"{name} {value}"
        texts.setdefault(code, []).append(text.replace("= ", "="))
    origin = info.data.origin
    if origin is not None and origin.kind == "predictions":
        texts["imported"] = ["replies of another tool"]
    for code, values in texts.items():
        yield code, ", ".join(values)
    yield "metric", fmt.metric_label(info.headline)


def _fact_code(name: str, info: RunInfo) -> str:
    """The key of `SETTING_TITLES` that a fact of `run_facts` belongs to."""
    if name == "seed" and info.config.limit is None:
        # It orders the samples of a run that may stop early.
        return "until"
    if name == EXTENT and extent_asked(info) == STOPPED:
        return "until"
    if name in _FACT_CODES:
        return _FACT_CODES[name]
    if name.endswith("="):
        return "options"
    return "judge" if name.partition("-")[0] == "judge" else "roles"


def _identity(info: RunInfo) -> Iterator[tuple[str, str]]:
    identity = info.config.identity
    yield "model", f"{identity.provider}/{identity.name}"
    yield from sorted(identity.facts.items())
    sampling = info.config.sampling.get("model")
    for name, value in (msgspec.structs.asdict(sampling) if sampling else {}).items():
        if value is not None:
            yield name.replace("_", " "), str(value)


def _scored_row(row: CatalogRow, headline: Metric, metrics: dict[str, Metric]) -> CatalogRow:
    """The row with its score, interval, metrics and, if the score is withheld, the reason."""
    flags = row.flags
    if headline.value is None and not row.is_unfinished:
        why = headline.note or "no sample has a score, or too many failed or are missing"
        flags = (*flags, ("withheld", "withheld", why))
    # A benchmark may name its headline only when it sums up.
    setting = tuple((code, fmt.metric_label(headline.name) if code == "metric" else text) for code, text in row.setting)
    interval = headline.interval
    percentages = (
        (name, 100 * metric.value / metric.top)
        for name, metric in metrics.items()
        if metric.value is not None and name not in fmt.BASELINES
    )
    changes: dict[str, Any] = {
        "metric": fmt.metric_label(headline.name),
        "unit": headline.unit,
        "top": headline.top,
        "value": headline.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "level": fmt.level_text(interval) if interval else "",
        "n": headline.n,
        "setting": setting,
        "flags": flags,
        "baselines": {
            name: metrics[name].value for name in fmt.BASELINES if name in metrics and metrics[name].value is not None
        },
        "metrics": dict(islice(percentages, _MAX_METRICS)),
    }
    return msgspec.structs.replace(row, **changes)


def folder_bytes(folder: str) -> int:
    """Bytes of the files in a folder and its folders, so far as they can be read; links count nothing."""
    total, pending = 0, [folder]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def count_lines(path: Path, otherwise: int) -> int:
    """Complete lines of a file; `otherwise` if it cannot be read."""
    count = 0
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                count += block.count(b"\n")
    except OSError:
        return otherwise
    return count


_NO_FAMILY = re.compile(
    r"v?\d+(\.\d+)?[bm]|\d{4,8}|\d+x\d+[bm]|a\d+b|"
    "instruct|chat|base|hf|it|preview|thinking|latest|exp|"
    "tiny|small|medium|large|mini|nano|pro|max|flash|lite|turbo|"
    "int4|int8|awq|gptq|fp8|bf16"
)
"""Parts of a model's name in lower case that end its family: a size, a date, a kind, a precision."""


def model_family(model: str) -> str:
    """The family in a model's name: `Qwen/Qwen2.5-VL-7B-Instruct` gives `qwen2.5-vl`.

    The name without organisation and options, up to the first part that is a size, a date or a
    word such as "instruct". A guess, for grouping only.
    """
    name = model.split(":", 1)[0].rsplit("/", 1)[-1].lower()
    parts = re.split(r"[-_\s]+", name)
    kept = [parts[0]]
    for part in parts[1:]:
        if _NO_FAMILY.fullmatch(part):
            break
        kept.append(part)
    return "-".join(kept)

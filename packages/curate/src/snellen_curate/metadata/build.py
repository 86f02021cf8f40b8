"""`build_questions`: metadata records and templates to a data set folder.

MMT-Bench, Sec. 3.2 and Appendix I. The result depends on the two files, the options and the seed,
and on nothing else; what a language model writes is stored, and asked for once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec

from snellen.api.progress import ProgressChoice
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.media import digest_bytes
from snellen.core.model import AnyModel
from snellen.core.output import Output
from snellen.core.record import run_flow
from snellen.core.request import Request
from snellen.core.sample import Sample, sampling_key
from snellen.data.media.image_files import FileDigests, media_folders
from snellen.data_sets.decisions import Decision, Exclusion
from snellen.data_sets.items import Item
from snellen.data_sets.step import STEP_FILE, Step, open_step
from snellen.settings import Settings
from snellen_curate.asking import Job, Models, Result, model_setting, open_models
from snellen_curate.attribution import AUTHOR_COLUMN, URL_COLUMN, join_images
from snellen_curate.metadata.catalogue import Catalogue, TemplatePool
from snellen_curate.metadata.distractors import WRITER, WRITTEN, WriterSettings, find_strategy, read_settings
from snellen_curate.metadata.drafts import Drafter, MediaFiles, QuestionDraft
from snellen_curate.metadata.draw import balance_positions, fill_evenly
from snellen_curate.metadata.guess_check import MOST_LEFT_OUT, GuessCheck, check_guessing, leave_out_guessable
from snellen_curate.metadata.question_counts import QuestionCounts, RecordOutcomes, count_questions
from snellen_curate.metadata.records import CategoryTree, MetadataRecord, RecordFiles
from snellen_curate.metadata.templates import TemplateFile, read_templates
from snellen_curate.step_options import StepOptions

STEP = "questions-from-metadata"
MAX_CHECKED = 100
"""Items of a data set that are flagged by `check_share` (Appendix I.1)."""
CATEGORY, META_TASK = "category", "l2-category"
"""Columns of subtask and meta-task in MMT-Bench's files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataQuestionOptions:
    """What decides which questions there are."""

    per_subtask: int = 200
    """The most questions of a subtask. MMT-Bench: 200 (Sec. 3.2)."""
    seed: int = 0
    alike_length: bool = False
    """Choose wrong options whose lengths are next to the right one's, so that the length says
    nothing."""
    require_license: bool = False
    """Leave records out for which nobody states a licence."""
    check_share: float = 0.0
    """The share of each data set's items that is flagged for review, at most `MAX_CHECKED`.
    MMT-Bench's authors looked at half of the samples (Appendix I.1)."""

    def __post_init__(self) -> None:
        """Raises UsageError for numbers out of range."""
        if self.per_subtask < 1:
            raise UsageError(f"per_subtask is {self.per_subtask}; expected 1 or more")
        if not 0 <= self.check_share <= 1:
            raise UsageError(f"the share to review is {self.check_share}; expected a share from 0 to 1")


def build_questions(
    metadata: Path | str | Sequence[Path | str],
    templates: Path | str,
    out: Path | str,
    options: MetadataQuestionOptions = MetadataQuestionOptions(),
    *,
    writer: AnyModel | None = None,
    asking: StepOptions = StepOptions(),  # noqa: B008
    progress: ProgressChoice = None,
) -> QuestionCounts:
    """Make questions of metadata files and write them to the data set folder `out`.

    `writer` is the model of the strategy `model`. The same call goes on where one that was
    interrupted stopped. Raises UsageError for files that cannot be used and options that do not go
    together.
    """
    template_path = Path(templates).expanduser()
    template_file = _read_templates(template_path, has_writer=writer is not None)
    named = [metadata] if isinstance(metadata, Path | str) else metadata
    environment = Settings.from_environment()
    files = RecordFiles(*(Path(path).expanduser() for path in named), limits=environment.limits)
    catalogue = Catalogue(files, template_file.templates, options.seed)
    trees = _category_trees(files, template_file)
    if not (Path(out).expanduser() / STEP_FILE).exists():
        # A file that cannot be used leaves no folder behind, which would then be of other data.
        _read(catalogue, files, options)
    settings = asdict(options) | {"templates": digest_bytes(template_path.read_bytes())}
    settings["writer"] = model_setting(writer)
    with open_step(out, STEP, settings, *files.describe()) as step, ExitStack() as stack:
        if step.was_complete:
            return msgspec.convert(step.info.counts, QuestionCounts)
        if not len(catalogue):
            _read(catalogue, files, options)
        models = None
        if writer is not None:
            models = stack.enter_context(open_models({WRITER: writer}, asking, step.folder, progress=progress))
        folders = media_folders(files.folders, environment.media_folders, environment.limits, fetched=False)
        media = MediaFiles(folders, stack.enter_context(FileDigests(environment.cache)), str(files))
        drafter = Drafter(catalogue, media, files.header, trees, template_file.same, options.alike_length)
        return _Build(files, catalogue, drafter, options, step, models, RecordOutcomes(catalogue)).run()


def _category_trees(files: RecordFiles, file: TemplateFile) -> dict[str, CategoryTree]:
    """The category spaces of records and templates. Raises UnknownName for one that there is
    not."""
    # Labels alone are a space without a hierarchy.
    named = {
        name: space if isinstance(space, dict) else dict.fromkeys(space, "") for name, space in file.spaces.items()
    }
    spaces = {**files.header.spaces, **named}
    for template in file.templates:
        if template.space and template.space not in spaces:
            raise UnknownName(f"category space of the subtask {template.subtask!r}", template.space, spaces)
    return {name: CategoryTree(space) for name, space in spaces.items()}


def _read(catalogue: Catalogue, files: RecordFiles, options: MetadataQuestionOptions) -> None:
    """Read the records. Raises DataError for files that hold none, and for ids that two share."""

    def refuse(record: MetadataRecord) -> Exclusion | None:
        if options.require_license and not files.header.license_of(record):
            reason = f"neither it nor its source {record.source!r} states a licence"
            return Exclusion("licence", reason)
        return None

    catalogue.read(refuse)


@dataclass(frozen=True, slots=True)
class _Build:
    """One run of the step."""

    files: RecordFiles
    catalogue: Catalogue
    drafter: Drafter
    options: MetadataQuestionOptions
    step: Step
    models: Models | None
    outcomes: RecordOutcomes

    def run(self) -> QuestionCounts:
        """Draw, ask, and write the folder."""
        pools = {pool.template.subtask: pool for pool in self.catalogue.pools}
        subtasks = {name: self._draw(pool) for name, pool in pools.items()}
        available = {name: {source: len(rows) for source, rows in pool.rows.items()} for name, pool in pools.items()}
        checks = self._check(subtasks)
        drafts = [draft for each in subtasks.values() for draft in each]
        pairs = [(draft.template.subtask, draft.size) for draft in drafts]
        places = balance_positions(pairs, self.options.seed)
        records = len(self.catalogue)
        counts = count_questions(drafts, available, self.outcomes, records, checks)
        if self.models is not None and self.models.abort_reason:
            counts.stopped = self.models.abort_reason
            self.step.finish(msgspec.to_builtins(counts), "waiting")
            return counts
        if not drafts:
            raise DataError(
                f"{self.files}: no question could be made of {records} records; {self.outcomes.describe_reasons()}"
            )
        self._decide(drafts)
        pairs_of = zip(drafts, places, strict=True)
        self.step.write_items(place_options(draft, place) for draft, place in pairs_of)
        self.outcomes.write(self.files, self.step.folder)
        self.step.finish(msgspec.to_builtins(counts), "waiting" if counts.failed else "complete")
        return counts

    def _draw(self, pool: TemplatePool) -> list[QuestionDraft]:
        """Up to `per_subtask` questions of one template, in the order in which sources take turns.

        A record of which none can be made gives its place to the next of the same source; a source
        that is used up leaves its share to the others. The questions of a smaller limit are among
        those of a larger one.
        """
        orders = self.catalogue.orders(pool)
        # Every record's first question comes before any record's second.
        sizes = {name: len(rows) * pool.template.per_record for name, rows in orders.items()}
        places, failed = dict.fromkeys(orders, 0), dict.fromkeys(orders, 0)
        made: dict[str, list[QuestionDraft]] = {name: [] for name in orders}
        while self.models is None or not self.models.abort_reason:
            shares = fill_evenly(sizes, self.options.per_subtask)
            sources: dict[str, tuple[str, int]] = {}
            jobs: list[Job[QuestionDraft | Exclusion]] = []
            for name, rows in orders.items():
                # Questions whose requests failed keep their places: the next start asks again.
                end = max(places[name], places[name] + shares[name] - len(made[name]) - failed[name])
                for place in range(places[name], end):
                    slot, at = divmod(place, len(rows))
                    record = self.catalogue.record(rows[at])
                    item = self.drafter.item_id(pool, record, slot)
                    jobs.append(Job(item, self.drafter.draft(pool, record, slot)))
                    sources[item] = name, rows[at]
                places[name] = end
            if not jobs:
                break
            for result in self._ask(jobs):
                name, row = sources[result.id]
                if isinstance(result.value, QuestionDraft):
                    made[name].append(result.value)
                    self.outcomes.add(row, result.id, result.asked)
                elif result.failure is not None:
                    failed[name] += 1
                    self.step.decide(result.failed_decision(STEP))
                    self.outcomes.fail(row, result.failure.message)
                elif result.value is not None:
                    sizes[name] -= 1
                    self.outcomes.refuse(row, result.id, result.value)
        # One of each source after the other: a larger limit appends to a smaller one's list.
        return [draft for turn in zip_longest(*made.values()) for draft in turn if draft is not None]

    def _check(self, subtasks: dict[str, list[QuestionDraft]]) -> dict[str, GuessCheck]:
        """Leave out what the texts alone answer, and measure the rest. Nothing is left out while
        questions are missing."""
        most = 0 if self.outcomes.failed else MOST_LEFT_OUT
        probed = {name: leave_out_guessable(drafts, self.options.seed, most) for name, drafts in subtasks.items()}
        for name, (kept, left_out, _) in probed.items():
            subtasks[name] = kept
            for draft in left_out:
                reason = "the texts alone answer it, and too many of its subtask"
                self.outcomes.withdraw(draft.id, Exclusion("text probe", reason))
        return check_guessing(probed)

    def _decide(self, drafts: list[QuestionDraft]) -> None:
        """Record what became of every record that was refused or drawn."""
        done, names = self.step.decisions, self.catalogue.names
        problems = {names[row]: problem for row, problem in self.catalogue.problems.items()}
        for name, problem in [*problems.items(), *self.outcomes.refused.items()]:
            if name not in done:
                self.step.decide(Decision(name, "drop", STEP, problem.rule, problem.reason))
        checked = _choose_checked(drafts, self.options)
        for draft in drafts:
            if draft.id not in done:
                reason = f"made of record {draft.record.id}: {draft.template.answer}"
                evidence = self.outcomes.evidence.get(draft.id, ())
                self.step.decide(Decision(draft.id, "add", STEP, "template", reason, evidence))
            if done[draft.id].action == "flag":
                continue
            if not draft.license:
                reason = f"no licence is stated by the record or its source {draft.record.source!r}"
                self.step.decide(Decision(draft.id, "flag", STEP, "licence", reason))
            elif draft.id in checked:
                reason = f"one of {len(checked)} items drawn to be looked at"
                self.step.decide(Decision(draft.id, "flag", STEP, "sample check", reason))

    def _ask(self, jobs: Sequence[Job[QuestionDraft | Exclusion]]) -> list[Result[Any]]:
        """Results of jobs, in the order of the jobs; one that a spent budget cut off has none."""
        if self.models is None:
            return [Result(job.id, run_flow(job.steps, _refuse_request), ()) for job in jobs]
        found: dict[str, Result[Any]] = {}

        def note(result: Result[Any]) -> None:
            found[result.id] = result

        self.models.drive(jobs, note, "wrong options", len(jobs))
        return [found[job.id] for job in jobs if job.id in found]


def _choose_checked(drafts: Sequence[QuestionDraft], options: MetadataQuestionOptions) -> set[str]:
    """The items that a person is to look at: a share of those of each data set, by seed."""
    by_source: dict[str, list[str]] = {}
    for draft in drafts:
        by_source.setdefault(draft.record.source, []).append(draft.id)
    checked: set[str] = set()
    for names in by_source.values():
        names.sort(key=lambda name: sampling_key(options.seed, f"check/{name}"))
        checked.update(names[: min(MAX_CHECKED, round(options.check_share * len(names)))])
    return checked


def place_options(draft: QuestionDraft, place: int) -> Item:
    """The item of a draft with the right option at a place, counted from 0."""
    options = list(draft.wrong)
    options.insert(place, draft.gold)
    media, own = draft.media, [True] * len(draft.media)
    if draft.candidates:
        right, *wrong = draft.candidates
        wrong.insert(place, right)
        media = (*media, *wrong)
        own += [each is right for each in wrong]
        options = [f"Candidate {number}" for number in range(1, len(wrong) + 1)]
    record, template = draft.record, draft.template
    task = template.task or record.task
    sample = Sample(
        id=draft.id,
        kind="choice",
        question=draft.question,
        gold=(ascii_uppercase[place],),
        options=dict(zip(ascii_uppercase, options, strict=False)),
        media=media,
        hint=template.hint,
        groups={CATEGORY: template.subtask, **({META_TASK: task} if task else {})},
    )
    cells = {
        "source": record.source,
        # Candidates of other records have the licence of the source at most.
        "license": join_images([draft.license if mine or not record.license else "" for mine in own]),
        AUTHOR_COLUMN: join_images([record.author if mine else "" for mine in own]),
        URL_COLUMN: join_images([record.url if mine else "" for mine in own]),
        "record": record.id,
        "image type": ", ".join(template.image_types or record.image_types),
        "capability": ", ".join(template.capabilities or record.capabilities),
        "distractors": ", ".join(draft.strategies),
    }
    return Item(sample, {name: cell for name, cell in cells.items() if cell})


def _read_templates(path: Path, *, has_writer: bool) -> TemplateFile:
    """Read and check the templates. Raises DataError, and UsageError for an unknown strategy, or
    settings that one does not have."""
    file, where = read_templates(path), str(path)
    for template in file.templates:
        for name, given in template.strategy_calls():
            try:
                if name == WRITTEN:
                    read_settings(name, WriterSettings, given)
                else:
                    read_settings(name, find_strategy(name).settings, given)
            except UsageError as error:
                raise UsageError(f"{where}, subtask {template.subtask!r}: {error}") from error
            if name == WRITTEN and not has_writer:
                raise UsageError(
                    f"{where}, subtask {template.subtask!r}: the strategy model asks a language "
                    "model; name one with -m MODEL"
                )
    return file


def _refuse_request(request: Request) -> Output:
    raise AssertionError("only the strategy `model` asks, which needs a writer")

"""The job of one picture, video or album: extract, write, check; its result as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from snellen.core.errors import MediaError
from snellen.core.flow import Steps
from snellen.core.sample import MediaRef
from snellen.curate.asking import AskFailed, Job, NotJson
from snellen.curate.decisions import Action, Decision, Evidence
from snellen.curate.filter.rules import parse_rule
from snellen.curate.questions.extraction import VisualFacts
from snellen.curate.questions.fact_extraction import Exclusion, FactExtraction
from snellen.curate.questions.in_context import question_of, record_id, restate
from snellen.curate.questions.options import QuestionOptions
from snellen.curate.questions.prompt_texts import DimensionPrompt
from snellen.curate.questions.records import Draft, PictureRecord, RestatedCaption
from snellen.curate.questions.rules import (
    GIVEN_AWAY,
    MENTIONS_DESCRIPTION,
    MISSING,
    NO_FACTS,
    NO_LICENSE,
    NO_QUESTION,
    NOT_JSON,
    REPEATED,
    SINGLE_FRAME,
    TEXT_ONLY,
    TOO_CLOSE,
    UNANSWERED,
    UNREADABLE,
    WRITTEN,
    WrittenQuestion,
    check_description_mention,
    check_distractors,
    check_giveaway,
    check_parts,
    check_repetition,
    meets_needs,
)
from snellen.curate.questions.sources import Picture
from snellen.curate.questions.writing import (
    CHECKER,
    REASONER,
    WRITER,
    ask_close_distractors,
    ask_single_frame,
    ask_text_only,
    write_questions,
)
from snellen.report.format import plural

STEP = "questions"
PERMANENT = frozenset({"unsupported", "too_long", "media"})
"""Kinds of failures that the next start would meet again."""

T = TypeVar("T")


class _Span(NamedTuple):
    """Requests of a job, by their numbers."""

    first: int
    last: int


class _JobDecision(NamedTuple):
    item: str
    action: Action
    rule: str
    reason: str
    spans: tuple[_Span, ...]


class _PassedQuestion(NamedTuple):
    id: str
    dimension: str
    written: WrittenQuestion
    spans: tuple[_Span, ...]
    doubts: dict[str, str]


@dataclass(slots=True)
class PictureJobResult:
    """The result of a job. The evidence of a decision is given as spans of the job's requests,
    as a job does not see their digests."""

    picture: str
    pictures: tuple[str, ...]
    extraction: VisualFacts = field(default_factory=VisualFacts)
    requests: int = 0
    decisions: list[_JobDecision] = field(default_factory=list)
    questions: list[_PassedQuestion] = field(default_factory=list)
    restated: RestatedCaption | None = None

    def count_requests(self, steps: Steps[T]) -> Steps[T]:
        """The same steps; their requests are counted."""
        try:
            request = next(steps)
            while True:
                self.requests += 1
                request = steps.send((yield request))
        except StopIteration as stop:
            value: T = stop.value
            return value

    def drop(self, item: str, rule: str, reason: str, *spans: _Span) -> None:
        self.decisions.append(_JobDecision(item, "drop", rule, reason, spans))

    def since(self, first: int) -> _Span:
        """The requests from number `first` on."""
        return _Span(first, self.requests)

    def record(self, asked: Sequence[Evidence]) -> PictureRecord:
        """The record, with the evidence of all requests of the job."""

        def evidence(spans: Sequence[_Span]) -> tuple[Evidence, ...]:
            return tuple(one for span in spans for one in asked[span.first : span.last])

        decisions = tuple(
            Decision(one.item, one.action, STEP, one.rule, one.reason, evidence(one.spans))
            for one in self.decisions
        )
        drafts = tuple(
            Draft(
                one.id,
                one.dimension,
                self.pictures,
                one.written,
                evidence(one.spans),
                one.doubts,
            )
            for one in self.questions
        )
        fields = {name: getattr(self.extraction, name) for name in VisualFacts.__struct_fields__}
        return PictureRecord(
            picture=self.picture,
            decisions=decisions,
            drafts=drafts,
            restated=self.restated,
            shown=self.pictures[0] if self.restated else "",
            evidence=tuple(asked) if self.restated else (),
            **fields,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureJobs:
    """Makes the jobs of pictures and albums."""

    fact_extraction: FactExtraction
    options: QuestionOptions
    has_checker: bool

    def picture_job(self, picture: Picture) -> Job[PictureJobResult]:
        """Extract the facts of a picture or video, and write and check questions of every dimension
        that it allows."""
        return Job(picture.id, self._picture(picture))

    def album_job(
        self, name: str, pictures: Sequence[Picture], extraction: VisualFacts
    ) -> Job[PictureJobResult]:
        """Write and check questions about several pictures whose facts were extracted before."""

        def steps() -> Steps[PictureJobResult]:
            result = PictureJobResult(name, tuple(one.id for one in pictures), extraction)
            media = tuple(one.medium for one in pictures)
            yield from self._write(result, "album", media, _Span(0, 0))
            return result

        return Job(name, steps())

    def restating_job(self, draft: Draft) -> Job[PictureJobResult]:
        """Restate a question as captions; the rule for distractors applies to them as well."""

        def steps() -> Steps[PictureJobResult]:
            name = record_id(draft)
            result = PictureJobResult(name, draft.pictures)
            try:
                restated = yield from result.count_requests(restate(WRITER, draft, draft.id))
            except AskFailed as error:
                result.drop(name, final_rule(error), error.failure.message, result.since(0))
                return result
            reason = check_distractors(question_of(restated), self.options.max_similarity)
            if reason:
                result.drop(name, TOO_CLOSE, reason, result.since(0))
            else:
                result.restated = restated
            return result

        return Job(draft.id, steps())

    def _picture(self, picture: Picture) -> Steps[PictureJobResult]:
        """Extract, then write; a picture that cannot be used is dropped with the reason."""
        result = PictureJobResult(picture.id, (picture.id,))
        if self.options.require_license and not picture.cells.get("license"):
            result.drop(picture.id, NO_LICENSE, "the manifest names no licence for it")
            return result
        try:
            found = yield from result.count_requests(self.fact_extraction.extract(picture))
        except MediaError as error:
            result.drop(picture.id, UNREADABLE, str(error), result.since(0))
            return result
        except AskFailed as error:
            result.drop(picture.id, final_rule(error), error.failure.message, result.since(0))
            return result
        extracted = result.since(0)
        if isinstance(found, Exclusion):
            result.drop(picture.id, found.rule, found.reason, extracted)
            return result
        result.extraction = found
        yield from self._write(result, picture.kind, (picture.medium,), extracted)
        return result

    def _write(
        self, result: PictureJobResult, kind: str, media: Sequence[MediaRef], extracted: _Span
    ) -> Steps[None]:
        """Write questions of each dimension, and decide about each, and about the picture."""
        prompts = {
            slug: one
            for slug, one in self.options.dimensions.items()
            if one.media == kind and meets_needs(result.extraction, one.needs)
        }
        if not prompts:
            reason = "no dimension has what it needs: " + ", ".join(self.options.dimensions)
            result.drop(result.picture, NO_FACTS, reason, extracted)
            return
        for slug, prompt in prompts.items():
            role = REASONER if prompt.reasons else WRITER
            first = result.requests
            place = f"{result.picture}/{slug}"
            steps = write_questions(
                role, prompt, result.extraction, result.picture, media, count=self.options.count
            )
            try:
                written = yield from result.count_requests(steps)
            except AskFailed as error:
                result.drop(place, final_rule(error), error.failure.message, result.since(first))
                continue
            spans = (extracted, result.since(first))
            if not written:
                result.drop(place, NO_QUESTION, "the writer made no question of it", *spans)
            for number, question in enumerate(written, 1):
                yield from self._check(result, prompt, f"{place}/{number}", question, spans)
        if result.questions:
            reason = f"{plural(len(result.questions), 'question')} passed"
            result.decisions.append(
                _JobDecision(result.picture, "keep", WRITTEN, reason, (extracted,))
            )
        else:
            result.drop(result.picture, NO_QUESTION, "no question about it passed", extracted)

    def _check(
        self,
        result: PictureJobResult,
        prompt: DimensionPrompt,
        item: str,
        written: WrittenQuestion,
        spans: tuple[_Span, ...],
    ) -> Steps[None]:
        """Apply every rule to a question, those that need no model first."""
        reasons = self._reasons(result, written)
        first = result.requests
        for rule, reason in reasons.items():
            if reason:
                result.drop(item, rule, reason, *spans)
                return
        doubts: dict[str, str] = {}
        for rule, check in self._checks(result, prompt, item, written):
            try:
                reason = yield from result.count_requests(check)
            except AskFailed as error:
                # A check that cannot be made says nothing against the question.
                doubts[final_rule(error)] = f"{rule}: {error.failure.message}"
                continue
            if reason:
                result.drop(item, rule, reason, *spans, result.since(first))
                return
        passed = _PassedQuestion(item, prompt.name, written, (*spans, result.since(first)), doubts)
        result.questions.append(passed)

    def _reasons(self, result: PictureJobResult, written: WrittenQuestion) -> dict[str, str]:
        """Why rules without a model drop a question, by rule, in the order they are applied."""
        missing = check_parts(written)
        if missing:
            return {MISSING: missing}
        return {
            TOO_CLOSE: check_distractors(written, self.options.max_similarity),
            GIVEN_AWAY: check_giveaway(written),
            MENTIONS_DESCRIPTION: check_description_mention(written),
            REPEATED: check_repetition(written, [one.written.question for one in result.questions]),
        }

    def _checks(
        self, result: PictureJobResult, prompt: DimensionPrompt, item: str, written: WrittenQuestion
    ) -> Iterator[tuple[str, Steps[str]]]:
        """The checks by models; each says why the question is dropped, or nothing."""
        if self.has_checker:
            yield TOO_CLOSE, ask_close_distractors(CHECKER, written, item)
            if prompt.media == "video":
                yield SINGLE_FRAME, ask_single_frame(CHECKER, written, result.extraction, item)
        if self.options.text_only:
            yield TEXT_ONLY, self._without_picture(item, written)

    def _without_picture(self, item: str, written: WrittenQuestion) -> Steps[str]:
        """Ask the text-only models one by one, until more replies could not change the verdict."""
        rule, models = parse_rule(self.options.text_rule), len(self.options.text_only)
        threshold, right = rule.threshold(models), 0
        for number in range(1, models + 1):
            verdict = yield from ask_text_only(f"text{number}", written, item)
            right += verdict.correct
            if right >= threshold:
                return f"{right} of {models} models answer it without the picture: {rule.sentence}"
            if right + models - number < threshold:
                break
        return ""


def final_rule(error: AskFailed) -> str:
    """The rule under which a failed request drops an item; raises the error if asking again may
    help."""
    if isinstance(error, NotJson):
        return NOT_JSON
    if error.failure.kind in PERMANENT:
        return UNANSWERED
    raise error

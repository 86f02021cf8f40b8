"""Creation-MMBench: creative writing about pictures (Fang et al. 2025,
https://arxiv.org/abs/2503.14478).

One example row: index 0, question "Write a poem about ...", task_name "landscape_to_poem",
criteria "{'subjective_criteria': '...', 'objective_criteria': '...'}", ground_truth "...",
reference_answer_by_gpt4o "...", image <base64> (or a list of several).

Oddities: 765 questions of 51 tasks in four categories. Each reply is compared with a stored one of
GPT-4o, by criteria of its own question; the judge sees the pictures. Where the question has
criteria for facts, it also scores both answers by these, without the pictures, 0 to 10.

The judge says which answer is better, in five steps of -100 to 100; the headline `reward` is the
mean, 0 where model and GPT-4o are equal. It is asked twice, the answers in both orders, unless
`dual=off`. `win_rate` is the share of verdicts for the model, `visual_factuality` its mean score
by facts. An empty reply has lost. A reply with a verdict on preference that cannot be read is
ungraded; VLMEvalKit counts the other order alone. There is no score without a judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell, plain_messages
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, VerdictParser, ask_judges
from snellen.benchmarks.protocol.point_grading import to_points
from snellen.core.errors import DataError
from snellen.core.literals import parse_literal
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Flow, Pass, Record, Steps, Verdict
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Interval, Metric, Summary, SummaryContext
from snellen.extract.clean import without_thinking
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import GRADE, ParsedVerdict
from snellen.scoring.accuracy import counted_score, mean_metric
from snellen.scoring.headlines import RatioTerm, sum_of_ratios

PREFERENCE_RUBRIC = "creation-mmbench-preference"
FACTS_RUBRIC, FACTS_TRUTH_RUBRIC = "creation-mmbench-facts", "creation-mmbench-facts-gt"
RUBRICS = (PREFERENCE_RUBRIC, FACTS_RUBRIC, FACTS_TRUTH_RUBRIC)
FIRST, SECOND = "first", "second"
"""Grades of a verdict about facts, by the place of the answer."""
_TOP = 10.0
_MARK = "final verdict is:"
_CHOICE = re.compile(r"\[\[\s*([AB])\s*(>>|>|=|<<|<)\s*([AB])\s*\]\]", re.IGNORECASE)
_STEPS: Mapping[str, float] = {">>": -1.0, ">": -0.5, "=": 0.0, "<": 0.5, "<<": 1.0}
"""How much better the second answer is, by the sign between A and B."""
_FACT = re.compile(
    r"response ([AB]) visual factuality score\W{0,20}?(\d+(?:\.\d+)?)\s*(?:/\s*10)?(?![\d.]*\d)", re.IGNORECASE
)


class Criteria(NamedTuple):
    """By what two answers are compared."""

    preference: str
    facts: str = ""
    """What the answers must say of the picture; empty where nothing is asked of them."""
    ground_truth: str = ""


class AnswerComparison(NamedTuple):
    """The verdicts on a model's answer beside the reference, in one order or in both."""

    verdicts: tuple[Verdict, ...] = ()
    preferences: tuple[float, ...] = ()
    """How much better the model's answer is in each order, -1 to 1."""
    facts: tuple[float, ...] = ()
    """How far the model's answer fits the picture, by each order, 0 to 1."""
    reference_facts: tuple[float, ...] = ()


def parse_preference(reply: str) -> ParsedVerdict | None:
    """How much better the second answer is, -1 to 1 in halves: `Final Verdict is: [[B>A]]`.

    The verdict behind these words counts, else the only one that the reply holds.
    """
    text = without_thinking(reply)
    marked = [line for line in text.splitlines() if _MARK in line.lower()]
    for part in (*marked, text):
        found = {_second_gains(*match.groups()) for match in _CHOICE.finditer(part)} - {None}
        if len(found) == 1:
            return ParsedVerdict({GRADE: found.pop() or 0.0})
    return None


def _second_gains(left: str, sign: str, right: str) -> float | None:
    """By how much the second answer, B, is better; None where one is compared with itself."""
    if left.upper() == right.upper():
        return None
    return _STEPS[sign] if left.upper() == "A" else -_STEPS[sign]


def parse_facts(reply: str) -> ParsedVerdict | None:
    """Two scores in 0..10: `Response A Visual Factuality Score: 8/10`, and one of B; of several
    for one answer the last counts."""
    text = re.sub(r"[“”*\"]", "", without_thinking(reply))
    scores = {match[1].upper(): float(match[2]) for match in _FACT.finditer(text)}
    if scores.keys() != {"A", "B"} or not all(score <= _TOP for score in scores.values()):
        return None
    return ParsedVerdict({FIRST: scores["A"], SECOND: scores["B"]})


def compare(
    sample: Sample, criteria: Criteria, answers: Sequence[str], panel: JudgePanel, *, dual: bool
) -> Steps[AnswerComparison]:
    """Have judges compare two answers, the reference and the model's, in this order and, if
    `dual`, in the other; each order is a turn of the sample. Ends where a judge does not answer.
    """
    compared = AnswerComparison()
    for turn in range(1 + dual):
        request = _Request(sample, panel, Ref(sample.id, turn), answers, is_swapped=turn > 0)
        preferences = yield from request.ask(PREFERENCE_RUBRIC, parse_preference, criteria.preference)
        gain = preferences.grade()
        if gain is not None:
            gains = (*compared.preferences, -gain if request.is_swapped else gain)
            compared = compared._replace(preferences=gains)
        compared = compared._replace(verdicts=(*compared.verdicts, *preferences.verdicts))
        if preferences.failure is not None:
            return compared
        if not criteria.facts:
            continue
        rubric = FACTS_TRUTH_RUBRIC if criteria.ground_truth else FACTS_RUBRIC
        facts = yield from request.ask(rubric, parse_facts, criteria.facts, criteria.ground_truth)
        of_reference, of_model = (SECOND, FIRST) if request.is_swapped else (FIRST, SECOND)
        compared = compared._replace(
            verdicts=(*compared.verdicts, *facts.verdicts),
            facts=(*compared.facts, *_over_top(facts.grade(of_model))),
            reference_facts=(*compared.reference_facts, *_over_top(facts.grade(of_reference))),
        )
        if facts.failure is not None:
            return compared
    return compared


@dataclass(frozen=True, slots=True)
class _Request:
    """What judges are asked about two answers in one order."""

    sample: Sample
    panel: JudgePanel
    ref: Ref
    answers: Sequence[str]
    """The reference and the model's."""
    is_swapped: bool
    """Whether the model's answer comes first."""

    def ask(self, rubric: str, parse: VerdictParser, criteria: str, ground_truth: str = "") -> Steps[PanelVerdicts]:
        reference, reply = self.answers
        first, second = (reply, reference) if self.is_swapped else (reference, reply)
        fields = {
            "question": self.sample.question,
            "first": first,
            "second": second,
            "criteria": criteria,
            "ground_truth": ground_truth,
        }
        return ask_judges(self.panel, rubric, fields, parse, self.ref, about=reply, media=self.sample.media)


def _over_top(score: float | None) -> tuple[float, ...]:
    return () if score is None else (score / _TOP,)


DUAL = "dual"
CATEGORY, TASK = "category", "task"
REWARD, WIN_RATE = "reward", "win_rate"
FACTS, REFERENCE_FACTS = "visual_factuality", "reference_visual_factuality"
"""Values: the mean scores by facts of the model's answer and of GPT-4o's, over 10."""
_TOP_OF_FACTS = 10.0
CATEGORIES: Mapping[str, Sequence[str]] = {
    "literary writing": (
        "story_continue",
        "landscape_to_poem",
        "historical_story_creation",
        "story_novel_creation",
        "prose_writing_scenery",
        "art_inspired_prose",
        "daily_conversation_creation",
        "children_book_illustration_dialogue_creation",
    ),
    "common functional writing": (
        "ins_simple_daily_copywriter",
        "travel_journal",
        "short_video_scripts_for_social_media",
        "social_media_travel_content",
        "daily_achievement_show_off",
        "scientific_research_simple_promotion",
        "twitter_comment_on_daily_news",
        "personal_event_summaries",
        "daily_affairs_inquiries",
        "business_collaborative_email_writing",
        "daily_emotional_email_writing",
        "letter_of_complaint",
        "daily_invitation_email_writing",
        "holiday_card_writing",
        "letter_of_application",
        "product_usage_experience_review",
        "store_experience_review",
        "public_welfare_activity_participation_initiative",
    ),
    "professional functional writing": (
        "museum_guide_word_creation",
        "recipe_infer_and_guide",
        "landscape_introduction",
        "drafting_announcements_for_public_spaces",
        "floor_plan_renovation_design",
        "teaching_plan",
        "nutritional_formulation_of_recipe",
        "clothing_match_design",
        "software_engineering_diagram_explanation",
        "event_planning_and_venue_arrangement",
        "ui_design_analysis_and_optimization",
        "attraction_promotional_words",
        "product_marketing_strategy",
        "script_writing_for_product_advertisement_promotional_video",
        "residence_reasoning",
        "scientific_diagram_understanding",
        "pulitzer_prize_judge",
        "architecture_appreciation",
        "company_team_amuse_broadcast",
    ),
    "creative multimodal understanding": (
        "travel_itinerary_planning_and_recommendations",
        "photography_appreciation",
        "meme_explanation",
        "advertisement_explanation",
        "document_understanding",
        "snapshot_analysis",
    ),
}
"""The tasks of each category (Sec. 3.1 and Table 1)."""
_CATEGORY_OF = {task: category for category, tasks in CATEGORIES.items() for task in tasks}


def _sample(row: Row, options: Options) -> Sample:
    """The gold is GPT-4o's answer, the hint the criteria as JSON. Raises DataError for a row without
    criteria of preference."""
    task = first_cell(row.cells, "task_name")
    criteria = _criteria(row.cells)
    if not criteria.preference:
        raise DataError(
            "`criteria` holds none for the preference; expected a text, or an object with a key such "
            "as subjective_criteria"
        )
    return build_sample(
        row,
        gold=first_cell(row.cells, "reference_answer_by_gpt4o"),
        hint=msgspec.json.encode(criteria).decode(),
        groups={CATEGORY: _CATEGORY_OF.get(task, ""), TASK: task},
    )


def _criteria(cells: Mapping[str, str]) -> Criteria:
    text = first_cell(cells, "criteria")
    criteria: dict[str, str] = {}
    try:
        value = parse_literal(text)
    except ValueError:
        value = text
    if not isinstance(value, dict):
        return Criteria(text)
    for key, words in value.items():
        # As in the authors' code: whatever does not say "subjective" is about facts.
        criteria["preference" if "subjective" in str(key).lower() else "facts"] = str(words)
    truth = first_cell(cells, "ground_truth")
    return Criteria(criteria.get("preference", ""), criteria.get("facts", ""), truth)


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask, then have judges compare the reply with GPT-4o's."""
    dual = options[DUAL] == "on"

    def flow(sample: Sample) -> Flow:
        # The criteria are for the judge's eyes alone.
        messages = plain_messages(structs.replace(sample, hint=""))
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated) or not sample.gold:
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        no_answer = non_answer(output)
        if no_answer is not None:
            lost = Pass(messages, output, no_answer, sample.gold, False)
            return build_record(sample, (lost,), score=0.0, values={WIN_RATE: 0.0})
        criteria = msgspec.json.decode(sample.hint, type=Criteria)
        answers = (sample.gold[0], output.text)
        compared = yield from compare(sample, criteria, answers, panel, dual=dual)
        answer = ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold, verdicts=compared.verdicts)
        verdicts = PanelVerdicts(compared.verdicts)
        if verdicts.failure is not None or len(compared.preferences) < 1 + dual:
            return ungraded_record(sample, (result,), verdicts)
        values = {WIN_RATE: fmean(float(gain > 0) for gain in compared.preferences)}
        if len(compared.facts) == 1 + dual:
            values |= {FACTS: fmean(compared.facts), REFERENCE_FACTS: fmean(compared.reference_facts)}
        score = (1 + fmean(compared.preferences)) / 2
        return build_record(sample, (result,), score=score, values=values)

    return flow


def summarise_rewards(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean reward, -100 to 100, over all and by category and task; scores by facts out of
    10."""
    summary = context.plain(records)
    if not context.judges:
        # Empty replies are the worst without a judge; their mean alone would be no reward.
        return structs.replace(summary, headline=structs.replace(summary.headline, value=None, interval=None))
    rewarded = {
        column: {label: _to_reward(metric) for label, metric in labels.items()}
        for column, labels in summary.groups.items()
    }
    facts = {
        name: to_points(summary.metrics[name], _TOP_OF_FACTS)
        for name in (FACTS, REFERENCE_FACTS)
        if name in summary.metrics
    }
    headline = _to_reward(summary.headline)
    return structs.replace(
        summary,
        headline=headline,
        metrics={**summary.metrics, **facts, context.plain_headline: headline},
        groups={**rewarded, FACTS: _facts_by_category(records)},
        bounds=None,
        beside=(WIN_RATE, *facts, *summary.beside),
    )


def _facts_by_category(records: Sequence[Record]) -> dict[str, Metric]:
    scores: dict[str, list[tuple[float, str]]] = {}
    for record in records:
        if record.score is not None and FACTS in record.values and CATEGORY in record.groups:
            pair = record.values[FACTS], record.id
            scores.setdefault(record.groups[CATEGORY], []).append(pair)
    return {
        label: to_points(mean_metric(FACTS, *map(list, zip(*pairs, strict=True))), _TOP_OF_FACTS)
        for label, pairs in sorted(scores.items())
    }


def _to_reward(metric: Metric) -> Metric:
    """A mean score in percent as a reward: 50 is 0."""
    value, interval = metric.value, metric.interval
    return structs.replace(
        metric,
        name=REWARD,
        value=None if value is None else 2 * value - 100,
        interval=None
        if interval is None
        else Interval(2 * interval.low - 100, 2 * interval.high - 100, interval.method, interval.level),
        unit="points",
        top=100.0,
    )


def _reward_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    scores = [counted_score(record, context.failures) for record in records]
    terms = [[] if score is None else [RatioTerm(REWARD, 2 * score - 1)] for score in scores]
    return sum_of_ratios(terms, {REWARD: 100.0})


BENCHMARK = Declaration(
    name="creation-mmbench",
    version="1",
    title="Creation-MMBench, creative writing about pictures",
    paper="https://arxiv.org/abs/2503.14478",
    provenance="Creation-MMBench of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/Creation_MMBench.tsv", "870c0332a9c6a169d0ac9b8574c245fe"
    ),
    aliases={"Creation_MMBench": {}},
    options={DUAL: ("on", "off")},
    sample=_sample,
    max_new_tokens=4096,
    scoring=Judged(flow=_flow, rubrics=RUBRICS, must_judge=True, max_judge_tokens=4096),
    headline=Headline(name=REWARD, summarise=summarise_rewards, sums=_reward_sums),
    oracle=0.0,
    blank=-100.0,
)

"""MME-Reasoning: inductive, deductive and abductive questions (Yuan et al. 2025,
https://arxiv.org/abs/2505.21327).

One example row: index 0, question "Each circle stands for a number ...", question_type "Rule",
answer "{'A': 3, 'B': 1}", function_id "match_answer_function", prompt_id "id_answer_pair_prompt",
special_info "", capability "['calculation']", reasoning_type "deductive", image <base64>.

Oddities: rows name the prompt by which a judge copies out the answer, as JSON for puzzles, and the
check that it has to pass: many puzzles have more than one solution. Rows without names are choices,
whose letters are compared, or open, and then a second question to the judge compares values.

The prompts are the authors'. Checks are restated in `puzzles`; no formula is run as code,
and 24 is reached exactly, not in floating point. Letters that a judge writes in brackets ("[A, C]",
as it is shown to) are read; VLMEvalKit compares them with the brackets. An answer that no judge
copied out leaves the sample ungraded; there it is wrong. There is no score without a judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, structs

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell, plain_messages, split_list
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.open_answers.mme_reasoning.puzzles import CHECKS, solves
from snellen.benchmarks.protocol.judged_flows import EXTRACTION, JUDGE_RULE, ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges, consensus_grade
from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.core.output import Generated, NoMatch, ParsedAnswer
from snellen.core.record import Flow, Pass, Steps
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import ParsedVerdict, find_json, parse_grade, parse_text

CAPABILITY, REASONING = "capability", "reasoning_type"
CHOICE, OPEN = "choice_function", "open_function"
_ANY_SOLUTION = "any solution"
"""The gold of puzzles of which the data give no solution."""
_FORMULA = "judge_24points_function"
_SAME = "mme-reasoning-same"
_PROMPTS: Mapping[str, str] = {
    "id_answer_pair_prompt": "mme-reasoning-id-answer-pair",
    "id_answer_pair_prompt_reverse": "mme-reasoning-id-answer-pair-reverse",
    "coordinate_answer_prompt": "mme-reasoning-coordinate-answer",
    "multiple_answer_prompt": "mme-reasoning-multiple-answer",
    "formula_extraction_prompt": "mme-reasoning-formula",
    "choice_prompt": "mme-reasoning-choice",
    "open_question_prompt": "mme-reasoning-open-question",
    "hashi_extraction_prompt": "mme-reasoning-hashi",
    "skyscraper_extraction_prompt": "mme-reasoning-skyscraper",
    "sudoku_4_extraction_prompt": "mme-reasoning-sudoku-4",
    "sudoku_6_extraction_prompt": "mme-reasoning-sudoku-6",
    "yinyang_extraction_prompt": "mme-reasoning-yinyang",
    "points24_prompt": "mme-reasoning-points24",
}
"""Rubrics by the names of prompts in the data."""
_TEXT_PROMPTS = ("open_question_prompt", "choice_prompt", "points24_prompt")
"""Prompts that ask for a text; the others ask for JSON."""


class Puzzle(Struct, frozen=True):
    """How the answer to a question is copied out and checked."""

    check: str
    prompt: str
    info: Any = None
    """What the check needs to know of the puzzle."""


def _sample(row: Row, options: Options) -> Sample:
    """The hint is its `Puzzle` as JSON. Raises DataError for names that are not known."""
    puzzle = _puzzle(row.cells)
    return build_sample(
        row,
        gold=first_cell(row.cells, "answer") or (_ANY_SOLUTION if puzzle.check in CHECKS else ""),
        hint=msgspec.json.encode(puzzle).decode(),
        groups={name: SEPARATOR.join(split_list(first_cell(row.cells, name))) for name in (CAPABILITY, REASONING)},
    )


def _puzzle(cells: Mapping[str, str]) -> Puzzle:
    check, prompt = first_cell(cells, "function_id"), first_cell(cells, "prompt_id")
    if not check:
        is_choice = first_cell(cells, "question_type").lower() == "choice"
        check = CHOICE if is_choice else OPEN
        prompt = "choice_prompt" if is_choice else "open_question_prompt"
    if check not in (*CHECKS, CHOICE, OPEN) or prompt not in _PROMPTS:
        raise DataError(
            f"function_id {check!r} with prompt_id {prompt!r} is not known; expected one of "
            f"{', '.join((CHOICE, OPEN, *CHECKS))} with one of {', '.join(_PROMPTS)}"
        )
    return Puzzle(check, prompt, _literal(first_cell(cells, "special_info")))


def _literal(text: str) -> Any:
    """A value in JSON's or Python's syntax; None for an empty text, the text for anything else."""
    try:
        return parse_json_or_literal(text)
    except ValueError:
        return text or None


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask, have judges copy out the answer, and check it."""

    def flow(sample: Sample) -> Flow:
        # How the answer is checked is not for the model.
        messages = plain_messages(structs.replace(sample, hint=""))
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated) or not sample.gold:
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        no_answer = non_answer(output)
        if no_answer is not None:
            wrong = Pass(messages, output, no_answer, sample.gold, False)
            return build_record(sample, (wrong,), score=0.0)
        puzzle = msgspec.json.decode(sample.hint, type=Puzzle)
        copied = yield from _copied_answers(sample, output.text, puzzle, panel)
        result = Pass(messages, output, gold=sample.gold, verdicts=copied.verdicts)
        if copied.failure is not None or not copied.readable:
            return ungraded_record(sample, (result,), copied)
        texts = [verdict.text or "" for verdict in copied.readable]
        answer = ParsedAnswer(texts[0], JUDGE_RULE) if texts[0] else NoMatch(JUDGE_RULE)
        result = structs.replace(result, answer=answer)
        if puzzle.check != OPEN:
            score = consensus_grade([float(_is_right(text, sample, puzzle)) for text in texts])
            result = structs.replace(result, correct=score > 0.5)
            return build_record(sample, (result,), score=score)
        compared = yield from _compared_values(sample, output.text, texts[0], panel)
        result = structs.replace(result, verdicts=(*copied.verdicts, *compared.verdicts))
        grade = compared.grade()
        if grade is None or compared.failure is not None:
            return ungraded_record(sample, (result,), compared)
        result = structs.replace(result, correct=grade > 0.5)
        return build_record(sample, (result,), score=grade)

    return flow


def _copied_answers(sample: Sample, reply: str, puzzle: Puzzle, panel: JudgePanel) -> Steps[PanelVerdicts]:
    return (
        yield from ask_judges(
            panel,
            _PROMPTS[puzzle.prompt],
            {"question": sample.question, "reply": reply},
            parse_text if puzzle.prompt in _TEXT_PROMPTS else _parse_json,
            Ref(sample.id),
            step=EXTRACTION,
        )
    )


def _compared_values(sample: Sample, reply: str, answer: str, panel: JudgePanel) -> Steps[PanelVerdicts]:
    fields = {"question": sample.question, "gold": sample.gold[0], "answer": answer}
    grade = partial(parse_grade, low=0.0, high=1.0, integers_only=True)
    ref = Ref(sample.id, 1)
    return (yield from ask_judges(panel, _SAME, fields, grade, ref, about=reply))


def _parse_json(reply: str) -> ParsedVerdict | None:
    text = find_json(reply)
    return None if text is None else ParsedVerdict(text=text)


def _is_right(text: str, sample: Sample, puzzle: Puzzle) -> bool:
    """Whether the answer that a judge copied out passes the check of its puzzle."""
    gold = _literal(sample.gold[0])
    if puzzle.check == CHOICE:
        golds = gold if isinstance(gold, list) else sample.gold[0].split(",")
        return _letters(text.strip("[]").split(",")) == _letters(golds)
    if puzzle.check == _FORMULA:
        return solves(puzzle.check, text, gold, puzzle.info)
    return solves(puzzle.check, json.loads(text), gold, puzzle.info)


def _letters(texts: Iterable[object]) -> set[str]:
    return {str(text).strip() for text in texts}


BENCHMARK = Declaration(
    name="mme-reasoning",
    version="7",
    title="MME-Reasoning, logical reasoning",
    paper="https://arxiv.org/abs/2505.21327",
    provenance="MME-Reasoning of its authors",
    data=single_tsv(
        "https://huggingface.co/datasets/U4R/MME-Reasoning/resolve/main/MME_Reasoning.tsv",
        "b243f44778782d3821523689f6b40a1e",
        "MME-Reasoning.tsv",
    ),
    aliases={"MME-Reasoning": {}, "MMEReasoning": {}},
    sample=_sample,
    max_new_tokens=4096,
    scoring=Judged(
        flow=_flow,
        rubrics=(*_PROMPTS.values(), _SAME),
        must_judge=True,
        multi_label=(CAPABILITY, REASONING),
        max_judge_tokens=1024,
    ),
)

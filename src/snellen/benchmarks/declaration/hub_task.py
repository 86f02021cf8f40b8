"""`hf://ORG/SET` where the data set has an `eval.yaml`: the task it describes, as a benchmark.

`?task=ID` chooses a task; `split` and `config` then replace the task's own. With a split or a
config and no task, the data set is read as a plain table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.data_file import UserFile, adapt_to_columns
from snellen.benchmarks.declaration.declaration import Declaration, Headline, Scoring
from snellen.benchmarks.declaration.eval_yaml import (
    LITERAL,
    FieldSpec,
    HubBenchmark,
    HubTask,
    NamedStep,
    PromptPlan,
    plan_prompt,
    read_eval_yaml,
    select_task,
)
from snellen.benchmarks.declaration.judged import Judged, similarity_scoring
from snellen.benchmarks.declaration.open_questions import METRICS, OpenMetric, rules_by_metric
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, option_cells
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import against_gold
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.errors import DataError, UnknownName
from snellen.core.sample import Row
from snellen.data.columns import column_name, option_letters, parse_list
from snellen.data.tables.cells import INDEXED_ANSWER, INTEGER_ANSWER, set_integer_gold
from snellen.data.tables.hub import DESCRIPTION, DatasetName, read_description
from snellen.extract.open_text import parse_final, parse_raw
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate, prompt
from snellen.scoring import mathematics, text_scorers

VERSION = "2"
TASK = "task"
_THINKING_TOKENS = 4096
_SHORT_TOKENS = 512
_GRADED = ("model_graded_qa", "model_graded_fact")
_GOLD = "answer"
"""Our column of the gold answers."""


def hub_task_declaration(spec: str) -> Declaration | None:
    """The benchmark that the `eval.yaml` of a data set of the hub describes; None if `spec` names
    a split or config without a task, or the data set has no such file. Raises DataError,
    UnknownName, MissingExtra."""
    address, _, query = spec.partition("?")
    options = dict(parse_qsl(query))
    task_name = options.pop(TASK, None)
    if task_name is None and ("split" in options or "config" in options):
        return None
    plain = DatasetName.parse(f"{address}?{urlencode(options)}" if options else address)
    data = read_description(plain)
    where = f"{DESCRIPTION} of {address}"
    if data is None:
        if task_name is None:
            return None
        raise DataError(f"{address} has no {DESCRIPTION} (or it cannot be had), so no tasks")
    benchmark = read_eval_yaml(data, where)
    task = select_task(benchmark, task_name, where, address)
    return _declaration(benchmark, task, plain, where)


def _declaration(benchmark: HubBenchmark, task: HubTask, plain: DatasetName, where: str) -> Declaration:
    """The declaration of a task; the split, config and revision of the name take precedence over
    the task's own. Raises DataError and UnknownName."""
    address = plain.address
    config = plain.config or (task.config if task.config != "default" else None)
    parts = {"config": config, "split": plain.split or task.split, "revision": plain.revision}
    path = f"{address}?{urlencode({name: text for name, text in parts.items() if text})}"
    fields = task.field_spec
    data = UserFile(path, _columns(fields) if fields else {})
    title = benchmark.name or plain.name
    declaration = Declaration(
        name=(task.id or plain.name).split("/")[-1],
        version=VERSION,
        title=f"{title} ({task.id})" if len(benchmark.tasks) > 1 else title,
        provenance=plain.page,
        data=data,
        requires=REQUIRES_TEXT,
        scoring=RuleScoring(similarity=True, judges_score=True),
        parameters={TASK: task.id, "task_digest": hashlib.sha256(msgspec.json.encode(task)).hexdigest()[:12]},
        for_variant=partial(adapt_to_columns, data),
    )
    if fields is None:
        framework = benchmark.evaluation_framework or "no framework"
        notice = f"{where} names no columns ({framework}): they are inferred"
        return replace(declaration, notices=(notice,))
    plan = plan_prompt(task.solvers, where)
    scorer = task.scorers[0] if task.scorers else NamedStep("choice" if fields.choices else "match")
    scoring = _scoring(scorer, fields, plan, where)
    declaration = replace(
        declaration,
        kind="choice" if fields.choices else "open",
        group_by=(*GROUP_COLUMNS, *(column_name(name, 0) for name in fields.metadata)),
        adjust_row=partial(_adjust_row, fields),
        max_new_tokens=_THINKING_TOKENS if plan.thinks else _SHORT_TOKENS,
        scoring=scoring,
        notices=tuple(_notices(task, plan, scorer)),
        check=mathematics.require_math_verify if scorer.name == "math" else None,
    )
    if isinstance(scoring, Judged):
        return replace(declaration, headline=Headline(name="score"), for_variant=None)
    return replace(declaration, for_variant=partial(_adapt, data, _template(plan)))


def _columns(fields: FieldSpec) -> dict[str, str]:
    columns = {"question": fields.input}
    if not fields.target.startswith(LITERAL):
        columns["gold"] = fields.target
    if fields.input_image:
        columns["image"] = fields.input_image
    if isinstance(fields.choices, list):
        letters = option_letters(len(fields.choices)) or ""
        columns |= dict(zip(letters, fields.choices, strict=False))
    return columns


def _adjust_row(fields: FieldSpec, row: Row) -> Row:
    """The row with its options in the columns A, B, ... and its gold as a label or text."""
    cells = dict(row.cells)
    if isinstance(fields.choices, str) and "A" not in cells:
        items = parse_list(cells.get(column_name(fields.choices, 0), "")) or ()
        letters = option_letters(len(items)) or ""
        cells |= {letter: str(item) for letter, item in zip(letters, items, strict=False)}
    if fields.target.startswith(LITERAL):
        cells[_GOLD] = fields.target.removeprefix(LITERAL)
    gold, options = cells.get(_GOLD, ""), list(option_cells(cells).values())
    is_place = gold.isascii() and gold.isdecimal() and int(gold) < len(options)
    if fields.choices and is_place and cells.keys().isdisjoint((INDEXED_ANSWER, INTEGER_ANSWER)):
        same = [place for place, option in enumerate(options) if option.strip() == gold]
        # An option whose text is its own place is right either way, and says nothing of other rows.
        if same != [int(gold)]:
            set_integer_gold(cells, _GOLD, int(gold), options)
    return structs.replace(row, cells=cells)


def _template(plan: PromptPlan) -> PromptTemplate:
    return replace(DEFAULT_TEMPLATE, system=plan.system, frame=plan.frame)


def _adapt(data: UserFile, template: PromptTemplate, declaration: Declaration, variant: Variant) -> Declaration:
    """As for a plain data file, with the prompt of the task unless another is chosen."""
    declaration = adapt_to_columns(data, declaration, variant)
    chosen = variant.options.get("prompt", "snellen") != "snellen"
    return declaration if chosen else replace(declaration, template=template)


def _scoring(scorer: NamedStep, fields: FieldSpec, plan: PromptPlan, where: str) -> Scoring:
    if scorer.name in _GRADED:
        return similarity_scoring(partial(prompt, template=_template(plan)))
    if fields.choices:
        return RuleScoring(similarity=True)
    rules = rules_by_metric(_metric(scorer, where))
    name = "f1" if scorer.name == "f1" else "accuracy"
    return RuleScoring(rules=rules, metric=name, similarity=True)


def _metric(scorer: NamedStep, where: str) -> OpenMetric:
    """How open replies are scored. Raises DataError for arguments that a scorer does not have, and
    UnknownName."""
    if scorer.name == "answer":
        return METRICS["accuracy"]
    if scorer.name == "math":
        return OpenMetric(against_gold(_equal_maths), parse_final)
    makers: Mapping[str, Callable[..., float]] = {
        "includes": text_scorers.includes,
        "match": text_scorers.match,
        "exact": text_scorers.exact,
        "f1": text_scorers.f1,
    }
    if scorer.name not in makers:
        known = (*makers, "answer", "choice", "math", *_GRADED)
        raise UnknownName("scorer", scorer.name, known, f"It is named in {where}.")
    metric = partial(makers[scorer.name], **_checked_arguments(scorer, where))
    return OpenMetric(against_gold(metric), parse_raw)


_ARGUMENTS: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "includes": {"ignore_case": (True, False)},
    "match": {"location": ("begin", "end", "any", "exact"), "ignore_case": (True, False), "numeric": (True, False)},
}


def _checked_arguments(scorer: NamedStep, where: str) -> dict[str, Any]:
    allowed = _ARGUMENTS.get(scorer.name, {})
    for name, value in scorer.args.items():
        if name not in allowed:
            raise DataError(f"{where}: the scorer {scorer.name} has no argument {name!r} here")
        if value not in allowed[name]:
            values = ", ".join(map(str, allowed[name]))
            raise DataError(f"{where}: {scorer.name}, {name}: got {value!r}; expected {values}")
    return scorer.args


def _equal_maths(answer: str, golds: Sequence[str]) -> float:
    return float(any(mathematics.equal(answer, gold) for gold in golds))


def _notices(task: HubTask, plan: PromptPlan, scorer: NamedStep) -> list[str]:
    """Deviations from the task, one sentence each."""
    notices = []
    if plan.own_choices:
        notices.append("the options are asked with Snellen's own prompt for multiple choice")
    if task.field_spec is not None and task.field_spec.choices and scorer.name != "choice":
        notices.append(f"replies are read as choices, not by the task's scorer {scorer.name}")
    if scorer.name in _GRADED:
        model = scorer.args.get("model")
        by = f" with {model}" if model else ""
        notices.append(
            f"the task grades replies{by} by Inspect's rubric; here judges (--judge) grade from 1 "
            "to 5 how well a reply agrees with the gold answer"
        )
    elif scorer.name in ("answer", "math") or (scorer.name == "choice" and scorer.args):
        notices.append(f"the scorer {scorer.name} is Snellen's rule for such replies")
    if len(task.scorers) > 1:
        others = ", ".join(one.name for one in task.scorers[1:])
        notices.append(f"of the task's scorers, the first counts, and not {others}")
    if task.shuffle_choices:
        notices.append("the task shuffles the options; here they keep the order of the data")
    if task.epochs > 1:
        notices.append(f"the task asks each question {task.epochs} times: --repeats {task.epochs}")
    return notices

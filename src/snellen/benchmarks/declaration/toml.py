"""A benchmark of the user's own described in a few lines of TOML, without code.

    title = "Signs in the street"
    data = "signs.tsv"                  # beside this file; or hf://ORG/NAME?split=test
    kind = "open"                       # choice, yes_no or open; without it, inferred row by row
    metric = "anls"                     # of open answers, see METRICS
    groups = ["city"]
    columns = { question = "text", gold = "truth" }
    max_new_tokens = 32

    [prompt]
    open = "Answer with the words on the sign."

`judge = true` has open answers graded by the judges of a run, from 1 to 5; without a judge there is
no score. Where it is not set, judges that a run names grade open answers unless `metric` is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.data_file import UserFile, adapt_to_columns
from snellen.benchmarks.declaration.declaration import Declaration, Headline, Scoring
from snellen.benchmarks.declaration.described import DescribedBenchmark, TemplateStrings, read_fields
from snellen.benchmarks.declaration.judged import ACCURACY, similarity_scoring
from snellen.benchmarks.declaration.open_questions import METRICS, rules_by_metric
from snellen.benchmarks.declaration.published import absolute_path
from snellen.benchmarks.declaration.scoring import MAX_NEW_TOKENS, MAX_PAGE_TOKENS, RuleScoring, place_questions
from snellen.benchmarks.declaration.units import unit_column
from snellen.core.benchmark import DESCRIBED, REQUIRES_TEXT, Variant
from snellen.core.errors import DataError, SnellenError, UnknownName, UsageError
from snellen.data.columns import GOLD_COLUMNS, check_column_keys, gold_column
from snellen.prompts.choice import DEFAULT_TEMPLATE

VERSION = "4"


class BenchmarkDescription(DescribedBenchmark, Struct, frozen=True, kw_only=True):
    """The fields of the file; only `data` is required."""

    data: str
    name: str = ""
    metric: str = ACCURACY
    columns: dict[str, str] = {}
    ignore_columns: tuple[str, ...] = ()
    max_new_tokens: int = 512
    judge: bool = False


def load_declaration(path: str) -> Declaration:
    """The benchmark that a TOML file describes. Raises DataError, UnknownName."""
    description = _load_description(path)
    own = Variant(columns=description.columns, ignore_columns=description.ignore_columns)
    file = description.data
    if "://" not in file:
        file = str(Path(path).expanduser().parent / file)
    data = UserFile(file, own.columns, absolute_path(path))
    place = description.place
    content = _digested_content(description)
    digest = hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]
    declaration = Declaration(
        name=description.name or Path(path).stem,
        version=VERSION,
        title=description.title or f"own data: {description.data}",
        paper=description.paper,
        provenance=description.source,
        data=data,
        group_by=description.groups,
        kind="open" if description.judge else description.kind,
        requires=REQUIRES_TEXT,
        max_new_tokens=description.max_new_tokens,
        response_schema=description.schema_text(path),
        scoring=_scoring(description),
        parameters={DESCRIBED: digest},
    )
    if place is not None:
        from snellen.benchmarks.declaration.places import place_headline

        declaration = replace(declaration, headline=place_headline(place))
    if description.judge:
        headline = Headline(name=description.headline or "score")
        return replace(declaration, headline=headline, for_variant=_without_units)
    if description.kind == "fields":
        from snellen.benchmarks.declaration.record_fields import record_headline

        declaration = replace(declaration, headline=record_headline(description.headline))
    if description.kind == "page":
        from snellen.benchmarks.declaration.page_summary import page_headline, with_formulas

        declaration = replace(declaration, headline=page_headline(description.headline))
        return with_formulas(replace(declaration, for_variant=partial(_adapt, data, description.prompt)))
    return replace(declaration, for_variant=partial(_adapt, data, description.prompt))


def _adapt(data: UserFile, strings: TemplateStrings, declaration: Declaration, variant: Variant) -> Declaration:
    """As for a plain data file, with the strings of the description in the prompt."""
    if declaration.kind == "fields":
        _refuse_objects(data, variant)
    declaration = adapt_to_columns(data, declaration, variant)
    template = strings.fill_template(declaration.template or DEFAULT_TEMPLATE)
    return replace(declaration, template=template)


def _refuse_objects(data: UserFile, variant: Variant) -> None:
    """Raise DataError where the gold records of a data file are objects, which become columns."""
    columns: Sequence[str] = ()
    with suppress(SnellenError):  # raised again when the table is opened to be read
        columns = data.table(variant).columns
    if gold_column(columns) is None and any(name.partition(".")[0] in GOLD_COLUMNS for name in columns):
        raise DataError(f"{data.path}: its gold records are objects; expected the JSON of each as a text")


def _without_units(declaration: Declaration, variant: Variant) -> Declaration:
    """The declaration as it is. Raises UsageError for columns that name units."""
    if unit_column(variant.columns):
        raise UsageError(
            f"{declaration.name}: grades of a judge are not counted by units; leave out --columns unit=..."
        )
    return declaration


def _digested_content(description: BenchmarkDescription) -> dict[str, Any]:
    """Every field of the file that its digest covers: those that older versions did not have only
    where they are set, so that older descriptions keep their digest."""
    content = msgspec.structs.asdict(description)
    for name in ("ignore_columns", "place", "response_schema"):
        if not content[name]:
            del content[name]
    prompt = msgspec.structs.asdict(description.prompt)
    content["prompt"] = {
        name: text for name, text in prompt.items() if name not in ("fields", "page") or text is not None
    }
    return content


def _load_description(path: str) -> BenchmarkDescription:
    description = read_fields(path, BenchmarkDescription)
    if description.metric not in METRICS:
        raise UnknownName("metric", description.metric, METRICS)
    changed = (description.prompt, description.metric, description.circular)
    if description.judge and changed != (TemplateStrings(), ACCURACY, "off"):
        raise DataError(
            f"{path}: a judge grades replies to the questions as they stand; with judge = true "
            "leave out prompt, metric and circular"
        )
    check_column_keys(description.columns)
    if description.judge and unit_column(description.columns):
        raise DataError(f"{path}: grades of a judge are not counted by units; leave out unit")
    return description


def _scoring(description: BenchmarkDescription) -> Scoring:
    if description.place:
        return place_questions(description.place, description.headline)
    if description.judge:
        return similarity_scoring()
    return RuleScoring(
        max_new_tokens=MAX_PAGE_TOKENS if description.kind == "page" else MAX_NEW_TOKENS,
        rules=rules_by_metric(METRICS[description.metric]),
        metric=description.headline or description.metric,
        circular=description.circular,
        similarity=True,
        judges_score=description.metric == ACCURACY,
    )

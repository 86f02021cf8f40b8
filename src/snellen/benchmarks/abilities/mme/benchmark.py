"""MME: two yes/no questions about each image, 14 subtasks (Fu et al. 2023,
https://arxiv.org/abs/2306.13394).

One example row: index 0, category "existence", image "000000006040.jpg", question "Is there a
train in this image? Please answer yes or no.", answer "Yes"; the next row asks "Is there a bed in
this image? ..." about the same image and has the answer "No".

Oddities: accuracy counts questions, accuracy+ images of which both questions are right; a subtask
scores accuracy plus accuracy+ (0..200), perception is the sum of 10 subtasks (0..2000), cognition
of 4 (0..800): sums, never means, never weighted by size (Sec. 2.2). Sizes run from 20 to 200
images. Hugging Face copies give both questions of an image the same `question_id`. VLMEvalKit
calls cognition "reasoning".

Four readings of a reply, all in every report: `official`, the published script's (the leaderboard
is made with it, so it makes the headline), `paper` and `word`, see `extract/yes_no`, and
`vlmevalkit`. A reply that says neither is wrong. `mme:reading=paper` puts another one in the
headline. Snellen's rule is `official` here, because the published numbers are made with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import cast

from msgspec.structs import replace

from snellen.benchmarks.abilities.mme.subtasks import ABILITY, SUBTASK, area_of, subtask_name
from snellen.benchmarks.abilities.mme.summary import summarise_mme, total_sums
from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import pair_names, sample_of
from snellen.benchmarks.declaration.scoring import YesNo
from snellen.core.errors import DataError
from snellen.core.output import Answer
from snellen.core.sample import Row, Sample
from snellen.data.columns import ID_COLUMNS
from snellen.extract.published.vlmevalkit import parse_yes_no_vlmevalkit
from snellen.extract.yes_no import YesNoRule, parse_yes_no

PARSING_RULES = ("official", "paper", "word")
"""Those that may be asked for by `reading=`; `vlmevalkit` comes with `--rule vlmevalkit`."""
_REPORTED_RULES = (*PARSING_RULES, "vlmevalkit")
_PARSING_RULE_OF = {"snellen": "official", "vlmevalkit": "vlmevalkit", "official": "official"}


def mme_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """Samples in the order of their rows; the two questions about an image are one unit.

    Raises DataError for a row without a subtask, a gold that is neither yes nor no, and ids that
    more than a pair of questions share.
    """
    path = str(getattr(rows, "path", "mme"))
    row_list = list(rows)
    subtasks = [_subtask_of(row, path) for row in row_list]
    ids: Counter[str] = Counter()
    for row, subtask, unit in zip(row_list, subtasks, pair_names(row_list, subtasks), strict=True):
        sample = sample_of(row, groups=(), path=path, fixed_kind="yes_no")
        ids[sample.id] += 1
        if ids[sample.id] > (1 if _has_own_id(row) else 2):
            raise DataError(
                f"{path}, row {row.index + 1}: the id {sample.id!r} stands there already; ids must be unique"
            )
        area = area_of(subtask)
        yield replace(
            sample,
            id=sample.id if ids[sample.id] == 1 else f"{sample.id}#{ids[sample.id]}",
            groups={**({ABILITY: area} if area else {}), SUBTASK: subtask},
            unit=unit,
        )


def _parse(parsing_rule: str, reply: str, stop_reason: str) -> Answer:
    if parsing_rule == "vlmevalkit":
        return parse_yes_no_vlmevalkit(reply, stop_reason)
    return parse_yes_no(reply, stop_reason, rule=cast(YesNoRule, parsing_rule))


def _subtask_of(row: Row, path: str) -> str:
    for column in ("category", "subtask"):
        if column in row.cells:
            return subtask_name(row.cells[column])
    raise DataError(
        f"{path}, row {row.index + 1}: no subtask; got the columns {', '.join(row.cells)}; "
        "expected a column `category` such as existence or OCR (or use MME's folder layout)"
    )


def _has_own_id(row: Row) -> bool:
    """Whether the row's id is its own: `question_id` may be shared by a pair."""
    first = next((name for name in ID_COLUMNS if row.cells.get(name)), None)
    return first != "question_id"


BENCHMARK = Declaration(
    name="mme",
    version="4",
    title="MME, perception and cognition by pairs of yes/no questions",
    paper="https://arxiv.org/abs/2306.13394",
    provenance="MME, for academic research only, as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/MME.tsv", "b36b43c3f09801f5d368627fb92187c3"),
    samples=mme_samples,
    scoring=YesNo(
        parsers={rule: partial(_parse, rule) for rule in _REPORTED_RULES},
        selectable=PARSING_RULES,
        rules=_PARSING_RULE_OF,
        summarise=summarise_mme,
        sums=total_sums,
    ),
    headline=Headline(name="total"),
    oracle=2800.0,
)

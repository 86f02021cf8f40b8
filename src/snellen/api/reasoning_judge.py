"""MME's third problem by a judge: wrong answers whose own explanation supports the right one, and
the sheet on which people label some of them, so that the judge's errors are known."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from snellen.analysis.findings.judged_shares import Key
from snellen.analysis.findings.yes_no_problems import ReasonedError
from snellen.api.error_labels import JUDGE, ask_judge
from snellen.api.options import DEFAULT_STORE
from snellen.api.resolve_models import resolve_model
from snellen.core.atomic_write import save
from snellen.core.csv_cells import sheet_rows, sheet_text
from snellen.core.errors import DataError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import AnyModel
from snellen.core.output import Generated
from snellen.core.request import Generate, Generation, Ref, Text, user
from snellen.store.responses import ResponseStore

_COLUMNS = ("run", "id", "question", "right answer", "reply", "label")
_VERDICT = re.compile(r"verdict\s*:\W*(?P<verdict>right|wrong)\b", re.IGNORECASE)
_MAX_REPLY_TOKENS = 256


def judge_reasoning(
    errors: Sequence[ReasonedError], model: AnyModel, store: Path | str = DEFAULT_STORE
) -> dict[Key, bool]:
    """Whether each explanation supports the right answer, by a judge model that is not shown the
    image. Left out are replies of the judge without a verdict. Replies are kept in `store`. Raises
    UsageError subclasses if the model cannot be opened."""
    _, judge = resolve_model(model, {})
    with ResponseStore(Path(store)) as responses:
        requests = [_request(error) for error in errors]
        outputs = run_coroutine(ask_judge(judge, requests, responses))
    verdicts = {}
    for error, output in zip(errors, outputs, strict=True):
        found = _VERDICT.findall(output.text) if isinstance(output, Generated) else []
        if found:
            verdicts[error.key] = found[-1].lower() == "right"
    return verdicts


def _request(error: ReasonedError) -> Generate:
    text = (
        "A model answered a question with yes or no, and its answer is wrong. Look only at what "
        "follows the yes or no in its reply. Does it state what makes the right answer right, so "
        "that the model contradicts itself, or does it fit the model's wrong answer?\n\n"
        f"Question: {error.record.question}\n"
        f"Right answer: {error.record.gold[0]}\n"
        f"The model's reply: {error.reply}\n\n"
        "Give your reason in one sentence, then one last line:\n"
        "Verdict: right (it states what makes the right answer right) or\n"
        "Verdict: wrong (it fits the wrong answer, or states neither)"
    )
    return Generate(
        messages=(user(Text(text)),),
        ref=Ref("/".join(error.key)),
        settings=Generation(max_new_tokens=_MAX_REPLY_TOKENS),
        to=JUDGE,
    )


def write_sheet(errors: Sequence[ReasonedError], verdicts: Mapping[Key, bool], path: Path, each: int, seed: int) -> int:
    """Write a sheet of at most `each` replies of either verdict, drawn at random and mixed, without
    the verdicts; returns their number. Raises StorageError."""
    generator, drawn = random.Random(seed), []
    for verdict in (True, False):
        members = [error for error in errors if verdicts.get(error.key) is verdict]
        drawn += generator.sample(members, min(each, len(members)))
    generator.shuffle(drawn)
    rows = ((*error.key, error.record.question, error.record.gold[0], error.reply, "") for error in drawn)
    save(path, sheet_text(_COLUMNS, rows))
    return len(drawn)


def read_sheet(path: Path) -> dict[Key, bool]:
    """The labels of a filled sheet: `yes` where the explanation supports the right answer, else
    `no`. Raises DataError for another file, another label, and a sheet without labels."""
    labels: dict[Key, bool] = {}
    try:
        columns, rows = sheet_rows(path)
        if rows and not set(_COLUMNS) <= columns:
            raise DataError(f"{path} is no sheet of labels; expected the columns {', '.join(_COLUMNS)}")
        for row in rows:
            label = row.get("label", "").strip().lower()
            if label and label not in ("yes", "no"):
                raise DataError(f"{path}: the label {row['label']!r} of {row['id']}; expected yes or no")
            if label:
                labels[row["run"], row["id"]] = label == "yes"
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a sheet of labels: {error}") from error
    if not labels:
        raise DataError(f"{path} holds no label yet: write yes or no into its column `label`")
    return labels

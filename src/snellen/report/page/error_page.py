"""A page on which people label wrong answers: a single offline file that saves the labels.

The browser keeps labels while they are edited; they are saved as JSON or CSV by download. A saved
file, or one written by a judge model, can be opened on the page and continued.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from snellen.analysis.samples.error_samples import ERROR_TYPES, FORMAT, MEANINGS, ErrorLabel, ErrorLabels, WrongAnswer
from snellen.core.answer_text import answer_text, answer_texts
from snellen.report import format as fmt
from snellen.report.page.embedded import escape_json
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.place_drawing import draw_places
from snellen.report.side_by_side import DRAWN_KINDS, draw_answers


def error_page(errors: Sequence[WrongAnswer], image_urls: Mapping[str, str], labels: ErrorLabels | None = None) -> str:
    """The page. `image_urls` are data URLs by digest; `labels` are the initial labels."""
    known_labels = {sample.key: sample for sample in labels.samples} if labels else {}
    data = {
        "format": FORMAT,
        "types": [[name, *MEANINGS[name]] for name in ERROR_TYPES],
        "pictures": image_urls,
        "samples": [
            _sample_object(error, image_urls, known_labels.get((error.run.name, error.record.id))) for error in errors
        ],
    }
    drawn_from = {(error.run.name, error.subtask): error.wrong_count for error in errors}
    template = template_environment().get_template("errors.html")
    return template.render(
        data=escape_json(msgspec.json.encode(data)).decode(),
        samples=len(errors),
        wrong=max(sum(drawn_from.values()), len(errors)),
        models=len({error.run.info.model for error in errors}),
        types=[MEANINGS[name] for name in ERROR_TYPES],
        judged=labels.labeller if labels else "",
        **page_layout(
            ("page.css", "beside.css", "errors.css"),
            ("theme.js", "sample.js", "places.js", "beside.js", "lightbox.js", "errors.js"),
        ),
    )


def _sample_object(error: WrongAnswer, image_urls: Mapping[str, str], label: ErrorLabel | None) -> dict[str, object]:
    kind = error.record.kind
    return {
        "run": error.run.name,
        "model": error.run.info.model,
        "sample": error.record.id,
        "subtask": error.subtask,
        "question": error.record.question,
        "options": dict(error.options),
        "gold": list(answer_texts(error.gold, kind)),
        "answer": None if error.answer is None else answer_text(error.answer, kind),
        "places": draw_places(error.gold, error.answer) if kind == "place" else None,
        "beside": draw_answers(error.gold, error.answer, kind) if kind in DRAWN_KINDS else None,
        "outcome": fmt.OUTCOME_LABELS[error.record.outcome],
        "reply": error.reply,
        "pictures": [name for name in error.record.media if name in image_urls],
        "labels": list(label.labels) if label else [],
        "note": label.note if label else "",
        "wrong": error.wrong_count,
    }

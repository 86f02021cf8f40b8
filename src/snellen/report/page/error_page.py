"""A page on which people label wrong answers: one file, offline, that saves what was labelled.

Labels are kept in the browser while one works, and saved as JSON or CSV by download; a saved file,
or one that a judge model wrote, can be opened on the page and gone on with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from snellen.analysis.samples.error_samples import (
    ERROR_TYPES,
    FORMAT,
    MEANINGS,
    ErrorLabels,
    WrongAnswer,
)
from snellen.report import format as fmt
from snellen.report.page.embedded import escape_json
from snellen.report.page.layout import page_layout, template_environment


def error_page(
    errors: Sequence[WrongAnswer], image_urls: Mapping[str, str], labels: ErrorLabels | None = None
) -> str:
    """The page. `image_urls` are data URLs by digest; `labels` are labels to begin with."""
    given = {one.key: one for one in labels.samples} if labels else {}
    samples = []
    for one in errors:
        label = given.get((one.run.name, one.record.id))
        samples.append(
            {
                "run": one.run.name,
                "model": one.run.info.model,
                "sample": one.record.id,
                "subtask": one.subtask,
                "question": one.record.question,
                "options": dict(one.options),
                "gold": list(one.gold),
                "answer": one.answer,
                "outcome": fmt.OUTCOME_LABELS[one.record.outcome],
                "reply": one.reply,
                "pictures": [name for name in one.record.media if name in image_urls],
                "labels": list(label.labels) if label else [],
                "note": label.note if label else "",
                "wrong": one.wrong_count,
            }
        )
    data = {
        "format": FORMAT,
        "types": [[name, *MEANINGS[name]] for name in ERROR_TYPES],
        "pictures": image_urls,
        "samples": samples,
    }
    template = template_environment().get_template("errors.html")
    return template.render(
        data=escape_json(msgspec.json.encode(data)).decode(),
        samples=len(samples),
        models=len({one.run.info.model for one in errors}),
        types=[MEANINGS[name] for name in ERROR_TYPES],
        judged=labels.labeller if labels else "",
        **page_layout(("page.css", "errors.css"), ("theme.js", "errors.js")),
    )

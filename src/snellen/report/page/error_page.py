"""A page on which people label wrong answers: one file, offline, that saves what was labelled.

Labels are kept in the browser while one works, and saved as JSON or CSV by download; a saved file,
or one that a judge model wrote, can be opened on the page and gone on with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from snellen.analysis.samples.error_samples import ERROR_TYPES, FORMAT, MEANINGS, Labels, Wrong
from snellen.report import format as fmt
from snellen.report.page.embedded import inert
from snellen.report.page.layout import environment, frame


def error_page(
    drawn: Sequence[Wrong], pictures: Mapping[str, str], before: Labels | None = None
) -> str:
    """The page. `pictures` are data URLs by digest; `before` are labels to begin with."""
    given = {one.key: one for one in before.samples} if before else {}
    samples = []
    for one in drawn:
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
                "outcome": fmt.OUTCOME_WORDS[one.record.outcome],
                "reply": one.reply,
                "pictures": [name for name in one.record.media if name in pictures],
                "labels": list(label.labels) if label else [],
                "note": label.note if label else "",
                "wrong": one.among,
            }
        )
    data = {
        "format": FORMAT,
        "types": [[name, *MEANINGS[name]] for name in ERROR_TYPES],
        "pictures": pictures,
        "samples": samples,
    }
    template = environment().get_template("errors.html")
    return template.render(
        data=inert(msgspec.json.encode(data)).decode(),
        samples=len(samples),
        models=len({one.run.info.model for one in drawn}),
        types=[MEANINGS[name] for name in ERROR_TYPES],
        judged=before.labeller if before else "",
        **frame(("page.css", "errors.css"), ("theme.js", "errors.js")),
    )

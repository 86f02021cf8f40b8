"""The one page that shows everything; it is given where its data come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from snellen.core.answer import OUTCOMES
from snellen.report import format as fmt
from snellen.report.page.embedded import inert
from snellen.report.page.layout import environment, frame
from snellen.view.run_view import HOME
from snellen.view.sample_index import KINDS, RESULTS

STYLES = ("page.css", "view.css")
SCRIPTS = (
    "theme.js",
    "sample.js",
    "columns.js",
    "store.js",
    "words.js",
    "list.js",
    "explorer.js",
    "run.js",
    "compare.js",
    "view.js",
)


def shell(given: Mapping[str, Any]) -> str:
    """The page. `given`: what it needs to find its data, for pages without a server."""
    known = {
        "outcomes": OUTCOMES,
        "words": fmt.OUTCOME_WORDS,
        "results": RESULTS,
        "kinds": KINDS,
        **given,
    }
    return (
        environment(HOME)
        .get_template("view.html")
        .render(
            **frame(STYLES, SCRIPTS, HOME, beside=True),
            known=inert(msgspec.json.encode(known)).decode(),
        )
    )

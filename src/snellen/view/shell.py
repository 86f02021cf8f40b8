"""The HTML page in which the scripts run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from snellen.core.output import OUTCOMES
from snellen.report import format as fmt
from snellen.report.page.embedded import escape_json
from snellen.report.page.layout import page_layout, template_environment
from snellen.view.run_row import FLAG_MEANINGS, SETTING_TITLES
from snellen.view.run_view import HOME
from snellen.view.sample_index import KINDS, RESULTS

STYLES = ("page.css", "beside.css", "view.css", "samples.css", "home.css")
SCRIPTS = (
    "theme.js",
    "sample.js",
    "passes.js",
    "places.js",
    "beside.js",
    "lightbox.js",
    "columns.js",
    "store.js",
    "words.js",
    "picture.js",
    "list.js",
    "annotations.js",
    "source.js",
    "explorer.js",
    "run.js",
    "agreement.js",
    "replies.js",
    "compare.js",
    "catalog.js",
    "home-state.js",
    "virtual-table.js",
    "home-cells.js",
    "home-matrix.js",
    "home-list.js",
    "home-board.js",
    "home-views.js",
    "home.js",
    "view.js",
)


def render_shell(data_source: Mapping[str, Any]) -> str:
    """The page. `data_source` tells its scripts where their data are, if not on a server."""
    page_data = {
        "outcomes": OUTCOMES,
        "words": fmt.OUTCOME_LABELS,
        "results": RESULTS,
        "kinds": KINDS,
        "settings": SETTING_TITLES,
        "meanings": FLAG_MEANINGS,
        "baselines": [(name, fmt.metric_label(name)) for name in fmt.BASELINES],
        **data_source,
    }
    return (
        template_environment(HOME)
        .get_template("view.html")
        .render(
            **page_layout(STYLES, SCRIPTS, HOME, with_server=True),
            known=escape_json(msgspec.json.encode(page_data)).decode(),
        )
    )

"""What all pages share: layout, style, and a content security policy that blocks foreign
scripts."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.report.page.charts import axis, bar, stacked_bar

if TYPE_CHECKING:
    from jinja2 import Environment

HOME = "snellen.report"
"""The package whose folder `page` holds the parts that all pages share."""

Homes = str | tuple[str, ...]
"""The packages whose folders `page` hold the files of a page, in order of precedence; those of
`HOME` come last."""


def page_layout(
    styles: tuple[str, ...], scripts: tuple[str, ...], home: Homes = HOME, *, with_server: bool = False
) -> dict[str, str]:
    """The style, script and content security policy of a page. Files of the package `home` take
    precedence.

    The page may load nothing; with `with_server` it may load files from its own server, or next to
    itself.
    """
    script = "\n".join(page_file(name, home) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = " 'self' file:" if with_server else ""
    policy = (
        f"default-src 'none'; img-src data:{own}; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'{own}; base-uri 'none'; form-action 'none'"
    )
    if with_server:
        policy += "; connect-src 'self'; media-src 'self'"
    style = "\n".join(page_file(name, home) for name in styles)
    return {"style": style, "script": script, "policy": policy}


@cache
def template_environment(home: Homes = HOME) -> Environment:
    """The jinja templates of `home`, then of the report, with autoescape; a process compiles each once."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    templates = Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: page_file(name, home)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"axis": axis, "bar": bar, "stacked_bar": stacked_bar}
    templates.filters |= {
        "points": fmt.score_text,
        "span": fmt.interval_text,
        "signed": fmt.difference_text,
        "with_interval": fmt.score_with_interval,
        "level": fmt.level_text,
        "number": fmt.count_text,
        "words": fmt.display_name,
        "metric": fmt.metric_label,
        "plural": fmt.plural,
    }
    return templates


def page_file(name: str, home: Homes = HOME) -> str:
    """The text of a file of the first of `home` that has it, or else of the report."""
    homes = (home,) if isinstance(home, str) else home
    files = [resources.files(each) / "page" / name for each in (*homes, HOME)]
    file = next((each for each in files if each.is_file()), files[-1])
    return file.read_text(encoding="utf-8")

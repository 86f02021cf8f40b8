"""What differs from the plain setting of a benchmark, for the top of a page."""

from __future__ import annotations

from collections.abc import Iterator

from snellen.analysis.causes.gains import FACTORS
from snellen.core.run import RunInfo
from snellen.report import format as fmt

HEADLINE_SETTINGS = (*FACTORS, "thinking", "prompt", "recipe", "rule")
"""Parameters without which the headline would be misread."""
_OFF = frozenset({"off", "0", ""})


def changed_settings(run: RunInfo) -> Iterator[str]:
    """Name what was changed about a run: its controls, prompt and parsing rule, how many questions
    were asked and how often, sampling, and where data and replies came from."""
    config = run.config
    for name in HEADLINE_SETTINGS:
        if config.parameters.get(name, "") not in _OFF:
            yield f"{fmt.display_name(name)}={config.parameters[name]}"
    if config.limit is not None:
        yield f"limit {fmt.count_text(config.limit)}"
    if config.until:
        yield f"until {config.until}"
    if config.repeats > 1:
        yield f"{config.repeats} draws of each question"
    sampling = config.sampling.get("model")
    for name in ("temperature", "top_p", "seed"):
        value = getattr(sampling, name, None)
        if value is not None:
            yield f"{name} {value:g}"
    if run.failures != "exclude":
        yield f"failures: {fmt.display_name(run.failures)}"
    if run.data.note:
        yield "data that are not the published ones"
    if run.reused.replies:
        yield f"{fmt.plural(run.reused.replies, 'stored reply', 'stored replies')}"

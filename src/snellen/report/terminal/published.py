"""The output of `snellen why RUN`: a run against the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from snellen.analysis.published.explanation import PublishedExplanation
from snellen.report.markdown import literal

if TYPE_CHECKING:
    from rich.console import Console


def explanation_lines(explanation: PublishedExplanation) -> Iterator[str]:
    """The explanation as lines of text."""
    yield f"{explanation.model} on {explanation.benchmark}"
    for number in explanation.numbers:
        yield ""
        yield number.sentence
        yield f"  {number.difference:+.1f}; {number.url}"
        if number.note:
            yield f"  {number.note}"
        for differing in number.settings:
            yield (
                f"  {differing.setting}: {differing.published} there, {differing.own} here "
                f"(by {differing.basis})"
            )
        if not number.settings:
            yield "  no setting is known to differ"
    yield ""
    if explanation.setup:
        yield f"set-up of the makers: {explanation.setup} ({explanation.setup_source})"
    else:
        yield "how the makers ask this model is not known"
    if explanation.setup_note:
        yield f"not applied of it: {explanation.setup_note}"
    yield from (f"also: {sentence}" for sentence in explanation.deviations)


def print_published(explanation: PublishedExplanation, console: Console) -> None:
    """Print the explanation."""
    from rich.text import Text

    for line in explanation_lines(explanation):
        console.print(Text(line))


def to_markdown(explanation: PublishedExplanation) -> str:
    """The explanation as Markdown."""
    return "\n".join(literal(line) + "  " for line in explanation_lines(explanation)) + "\n"


def to_json(explanation: PublishedExplanation) -> str:
    """The explanation as JSON."""
    return msgspec.json.encode(explanation).decode()


PUBLISHED_EXPORTS: Mapping[str, Callable[[PublishedExplanation], str]] = {
    "json": to_json,
    "markdown": to_markdown,
}

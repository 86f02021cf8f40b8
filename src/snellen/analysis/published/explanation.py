"""Why a run's number differs from the published one: the settings that differ, as far as known."""

from __future__ import annotations

from msgspec import Struct

from snellen.analysis.comparison.deviations import deviations
from snellen.analysis.comparison.setup_gaps import recipe_of, setup_gaps
from snellen.analysis.published.numbers import compare_with_published
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.prompts.recipes import Recipe

_DESCRIBED_BY_GAPS = frozenset({"prompt", "sampling", "tokens"})
"""Deviations that the differing settings name already."""


class DifferingSetting(Struct, frozen=True):
    """A setting of the run that is not that of the published number."""

    setting: str
    published: str
    own: str
    basis: str
    """What is known of the published setting: `the source` names it, or `the makers' set-up`."""


class PublishedNumberExplained(Struct, frozen=True):
    """A published number, and the settings of the run that differ from its own."""

    sentence: str
    verdict: str
    published: float
    own: float
    difference: float
    url: str
    note: str
    settings: tuple[DifferingSetting, ...]


class PublishedExplanation(Struct, frozen=True):
    """A run against the published numbers of its model on its benchmark."""

    model: str
    benchmark: str
    setup: str
    """The family whose set-up is compared; "" if none is known."""
    setup_source: str
    setup_note: str
    """What the makers do beyond their settings, which is not applied."""
    numbers: tuple[PublishedNumberExplained, ...]
    deviations: tuple[str, ...]
    """Other ways in which the run differs from the plain setting of its benchmark."""


def explain_published(report: Report) -> PublishedExplanation:
    """Compare a run with what is published. Raises UsageError if nothing comparable is
    published."""
    run = report.run
    comparisons = compare_with_published(report)
    if not comparisons:
        raise UsageError(
            f"no published number is known that {run.name} can be compared with (it needs the "
            "published data, a score, and a model and benchmark of which Snellen knows one); give "
            "a second run"
        )
    recipe = recipe_of(run)
    numbers = []
    for comparison in comparisons:
        source, own = comparison.published.source, comparison.own.value
        assert own is not None
        stated = {
            name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in source.settings.items()
        }
        by_makers = () if recipe is None else setup_gaps(run)
        settings = [DifferingSetting(*gap, "the source") for gap in setup_gaps(run, stated)] + [
            DifferingSetting(*gap, "the makers' set-up") for gap in by_makers if gap.setting not in stated
        ]
        numbers.append(
            PublishedNumberExplained(
                comparison.sentence(),
                comparison.verdict,
                comparison.published.value,
                own,
                comparison.difference,
                source.url,
                source.note,
                tuple(settings),
            )
        )
    others = [each.sentence for each in deviations(run) if each.key not in _DESCRIBED_BY_GAPS]
    named = recipe or Recipe()
    return PublishedExplanation(
        run.model, run.benchmark, named.title or named.name, named.source, named.note, tuple(numbers), tuple(others)
    )

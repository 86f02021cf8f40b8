"""The facts that a reader needs to trust a number, or to reproduce it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.card_file import stored_card
from snellen.analysis.cards import ProtocolCard
from snellen.analysis.comparison.deviations import failures_meaning
from snellen.analysis.comparison.setup_gaps import recipe_of, setup_gaps
from snellen.analysis.published.numbers import compare_with_published
from snellen.core.benchmark import RECIPE
from snellen.core.output import Price
from snellen.core.request import MAIN
from snellen.core.run import Report, RunInfo
from snellen.models.remote.evidence import provider_evidence
from snellen.models.remote.profile import profiles
from snellen.report import format as fmt
from snellen.report.documents.protocol_card import card_lines
from snellen.report.documents.repeats import draws_text
from snellen.report.judge_notes import judges_note


class ReportFact(NamedTuple):
    name: str
    value: str
    code: bool = False
    """Whether the value is set in a fixed-width font: digests, commands, paths."""


class FactSection(NamedTuple):
    """Facts under a heading."""

    title: str
    facts: tuple[ReportFact, ...]


def fact_sections(report: Report, folder: Path) -> list[FactSection]:
    """The facts of a run by section, without empty sections."""
    run = report.run
    groups = (
        FactSection("Model", tuple(_model(run))),
        FactSection("Benchmark", tuple(_benchmark(run))),
        FactSection("Scoring", tuple(_scoring(report))),
        FactSection("Published numbers", tuple(_published_facts(report))),
        FactSection("Set-up of the makers", tuple(_setup(run))),
        FactSection("Protocol card", tuple(_card(run))),
        FactSection("Run", tuple(_run(run, folder))),
        FactSection("Resources", tuple(_resources(run))),
        FactSection("Versions", tuple(_sort_facts(run.versions))),
        *(_environments(run) if run.served else ()),
        FactSection("Hardware", tuple(_sort_facts(run.hardware))),
    )
    return [group for group in groups if group.facts]


def _model(run: RunInfo) -> Iterator[ReportFact]:
    identity = run.config.identity
    yield ReportFact("provider", identity.provider)
    provider = "http" if identity.provider == "server" else identity.provider
    if provider in profiles():
        yield ReportFact("evidence of the provider", provider_evidence(provider))
    yield ReportFact("name", identity.name)
    yield from _sort_facts(identity.facts)
    yield ReportFact("identity digest", identity.digest(), True)
    yield from (ReportFact("remark", remark) for remark in run.remarks)


def _benchmark(run: RunInfo) -> Iterator[ReportFact]:
    """The benchmark: version, parameters, data, samples."""
    yield ReportFact("name", run.benchmark)
    yield ReportFact("version", run.config.version)
    yield from _sort_facts(run.config.parameters)
    if run.config.examples is not None:
        yield ReportFact("examples", ", ".join(run.config.examples.ids))
        yield ReportFact("examples digest", run.config.examples.digest, True)
    if run.config.limit is not None:
        yield ReportFact("limit", fmt.plural(run.config.limit, "sample"))
    yield ReportFact("data", run.data.path, True)
    yield ReportFact("rows", fmt.count_text(run.data.rows))
    yield ReportFact("data digest", run.data.digest, True)
    origin = run.data.origin
    if origin is not None and origin.published:
        yield ReportFact("published data", origin.published, True)
    if run.data.note:
        yield ReportFact("not the published data", run.data.note.removeprefix("data: "))
    if run.paper:
        yield ReportFact("paper", run.paper)
    if run.source:
        yield ReportFact("source", run.source)


def _environments(run: RunInfo) -> Iterator[FactSection]:
    """What was installed in the environments that Snellen made for servers, by role."""
    for role, starts in run.served.items():
        latest = next((start for start in reversed(starts) if start.packages), None)
        if latest is not None:
            lock = ReportFact("lock digest", latest.lock, True)
            title = "Environment of the server" + (f" ({role})" if role != MAIN else "")
            # Python first, then the packages under the names by which they are installed.
            ordered = sorted(latest.packages.items(), key=lambda one: (one[0] != "python", one))
            versions = [ReportFact(name, version) for name, version in ordered]
            yield FactSection(title, (lock, *versions))


def _published_facts(report: Report) -> Iterator[ReportFact]:
    """Numbers that makers and papers publish, beside the run's own."""
    for comparison in compare_with_published(report):
        source = comparison.published.source
        name = comparison.published.metric or report.summary.headline.name
        yield ReportFact(name, f"{comparison.sentence()}; {source.url}")


def _setup(run: RunInfo) -> Iterator[ReportFact]:
    """How the makers of the model ask it, where that is known, and what was otherwise here."""
    recipe = recipe_of(run)
    if recipe is None:
        return
    yield ReportFact("family", recipe.title or recipe.name)
    yield ReportFact("asked by it", "yes" if RECIPE in run.config.parameters else "no")
    gaps = {gap.setting: gap.own for gap in setup_gaps(run)}
    for setting, value in recipe.settings().items():
        here = f" (here {gaps[setting]})" if setting in gaps else ""
        yield ReportFact(setting, f"{value}{here}")
    if recipe.note:
        yield ReportFact("not applied", recipe.note)
    yield ReportFact("source", recipe.source)


def _card(run: RunInfo) -> Iterator[ReportFact]:
    """The card of the benchmark in its standard form; nothing for the user's own data, or for
    another version of the benchmark."""
    card = stored_card(run.benchmark, run.config.version)
    if card is None:
        return
    others = (line for line in card_lines(card) if line[0] not in ("data", "data file"))
    yield from (ReportFact(name, value) for name, value in others)
    yield from _card_data(run, card)
    yield ReportFact("card digest", card.digest, True)


def _card_data(run: RunInfo, card: ProtocolCard) -> Iterator[ReportFact]:
    """Whether the run used the data that the card describes."""
    origin = run.data.origin
    if origin is None or not origin.published:
        return
    if origin.kind == "custom":
        yield ReportFact("data", "not those of the card")
    elif origin.kind != "published":
        origin_text = run.data.note.removeprefix("data: ") or origin.kind
        yield ReportFact("data", f"not known to be those of the card: {origin_text}")
    elif card.published and card.published != origin.published:
        yield ReportFact("data", f"{origin.published}; those of the card are {card.published}")
    else:
        yield ReportFact("data", f"those of the card: {origin.published}")


def _scoring(report: Report) -> Iterator[ReportFact]:
    """How the score was computed: metric, interval, failures, roles, limits and seed."""
    config, headline = report.run.config, report.summary.headline
    yield ReportFact("headline", fmt.metric_label(headline.name))
    if headline.interval is not None:
        yield ReportFact("interval", f"{fmt.level_text(headline.interval)}, {headline.interval.method}")
        yield ReportFact("interval for", fmt.ESTIMAND)
    yield ReportFact("failures", failures_meaning(report.run.failures))
    for role, identity in config.roles.items():
        facts = ", ".join(f"{key} {value}" for key, value in sorted(identity.facts.items()))
        name = f"{identity.provider}/{identity.name}"
        yield ReportFact(fmt.display_name(role), f"{name} ({facts})" if facts else name)
    if config.roles and (sentence := judges_note([report])):
        yield ReportFact("judge's errors", sentence)
    if config.repeats > 1 or config.sampling:
        yield ReportFact("draws", draws_text(report))
    limit = fmt.count_text(config.max_new_tokens)
    if config.extend_truncated is not None:
        limit += f"; {fmt.count_text(config.extend_truncated)} for replies that were cut there"
    yield ReportFact("most new tokens", limit)
    yield ReportFact("seed", str(config.seed))


def _run(run: RunInfo, folder: Path) -> Iterator[ReportFact]:
    counts = run.counts
    facts = {
        "status": run.status,
        "started": _time(run.created),
        "finished": _time(run.finished or ""),
        "asked again under the name": run.config.fresh,
        "requests, latest start": f"{fmt.count_text(counts.sent)} sent, {fmt.count_text(counts.reused)} from the store",
        "replies made before the run": run.reused.sentence(run.model) if run.reused.replies else "",
        "saved by early stop": fmt.plural(counts.saved, "request") if counts.saved else "",
        "stopped": run.stopped,
    }
    yield from (ReportFact(name, value) for name, value in facts.items() if value)
    yield ReportFact("folder", folder.name, True)


def _resources(run: RunInfo) -> Iterator[ReportFact]:
    """Time, memory, tokens and money, as far as they are known."""
    counts = run.counts
    facts = {
        "wall time, latest start": fmt.duration(counts.seconds) if counts.seconds else "",
        "device memory, highest": fmt.size(counts.device_memory) if counts.device_memory else "",
        "process memory, highest": fmt.size(counts.process_memory) if counts.process_memory else "",
        "largest batch": fmt.plural(counts.largest_batch, "prompt") if counts.largest_batch else "",
    }
    for role, spent in run.spent.items():
        name = fmt.display_name(role)
        facts[f"time of the {name}, summed"] = fmt.duration(spent.seconds) if spent.seconds else ""
        facts[f"{name}, all starts"] = fmt.spending_text(spent)
        facts[f"price of the {name}"] = "" if spent.price is None else _price(spent.price)
    yield from (ReportFact(name, value) for name, value in facts.items() if value)


def _price(price: Price) -> str:
    cached = "" if price.cached is None else f", {price.cached:g} cached"
    where = ", ".join(filter(None, (price.source, price.date)))
    listed = f"{price.input:g} in{cached}, {price.output:g} out, {price.currency} per million tokens"
    return f"{listed} ({where})" if where else listed


def _time(text: str) -> str:
    """An ISO time for readers: without fractions of a second, with the time zone."""
    date, _, clock = text.partition("T")
    return f"{date} {clock[:8]} UTC" if clock else text


def _sort_facts(facts: Mapping[str, str]) -> Iterator[ReportFact]:
    for name in sorted(facts):
        yield ReportFact(fmt.display_name(name), facts[name], len(facts[name]) > 30 and " " not in facts[name])

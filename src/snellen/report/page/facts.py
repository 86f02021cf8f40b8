"""What a reader needs to know to trust a number, or to get it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.card_file import stored_card
from snellen.analysis.cards import Card
from snellen.core.price import Price
from snellen.core.run import Report, RunInfo
from snellen.report import format as fmt
from snellen.report.terminal.protocol_card import card_lines
from snellen.report.terminal.repeats import draws_words


class Fact(NamedTuple):
    name: str
    value: str
    code: bool = False
    """Digests, commands and paths are set in a fixed-width face."""


class Facts(NamedTuple):
    """Facts under a heading."""

    title: str
    facts: tuple[Fact, ...]


def run_facts(report: Report, folder: Path) -> list[Facts]:
    """The protocol of a run, grouped; empty groups are left out."""
    run = report.run
    groups = (
        Facts("Model", tuple(_model(run))),
        Facts("Benchmark", tuple(_benchmark(run))),
        Facts("Scoring", tuple(_scoring(report))),
        Facts("Protocol card", tuple(_card(run))),
        Facts("Run", tuple(_run(run, folder))),
        Facts("Resources", tuple(_resources(run))),
        Facts("Versions", tuple(_sorted(run.versions))),
        Facts("Hardware", tuple(_sorted(run.hardware))),
    )
    return [group for group in groups if group.facts]


def _model(run: RunInfo) -> Iterator[Fact]:
    identity = run.config.identity
    yield Fact("provider", identity.provider)
    yield Fact("name", identity.name)
    yield from _sorted(identity.facts)
    yield Fact("identity digest", identity.digest(), True)
    yield from (Fact("remark", remark) for remark in run.remarks)


def _benchmark(run: RunInfo) -> Iterator[Fact]:
    yield Fact("name", run.benchmark)
    yield Fact("version", run.config.version)
    yield from _sorted(run.config.parameters)
    if run.config.examples is not None:
        yield Fact("examples", ", ".join(run.config.examples.ids))
        yield Fact("examples digest", run.config.examples.digest, True)
    if run.config.limit is not None:
        yield Fact("limit", fmt.plural(run.config.limit, "sample"))
    yield Fact("data", run.data.path, True)
    yield Fact("rows", fmt.number(run.data.rows))
    yield Fact("data digest", run.data.digest, True)
    origin = run.data.origin
    if origin is not None and origin.published:
        yield Fact("published data", origin.published, True)
    if run.data.note:
        yield Fact("not the published data", run.data.note.removeprefix("data: "))
    if run.paper:
        yield Fact("paper", run.paper)
    if run.source:
        yield Fact("source", run.source)


def _card(run: RunInfo) -> Iterator[Fact]:
    """Of the benchmark as it is by itself; none for data of one's own, or another version."""
    card = stored_card(run.benchmark, run.config.version)
    if card is None:
        return
    others = (line for line in card_lines(card) if line[0] not in ("data", "data file"))
    yield from (Fact(name, value) for name, value in others)
    yield from _card_data(run, card)
    yield Fact("card digest", card.digest, True)


def _card_data(run: RunInfo, card: Card) -> Iterator[Fact]:
    """Whether the run was made on the data that the card speaks of."""
    origin = run.data.origin
    if origin is None or not origin.published:
        return
    if origin.kind == "custom":
        yield Fact("data", "not those of the card")
    elif origin.kind != "published":
        told = run.data.note.removeprefix("data: ") or origin.kind
        yield Fact("data", f"not known to be those of the card: {told}")
    elif card.published and card.published != origin.published:
        yield Fact("data", f"{origin.published}; those of the card are {card.published}")
    else:
        yield Fact("data", f"those of the card: {origin.published}")


def _scoring(report: Report) -> Iterator[Fact]:
    interval = report.summary.headline.interval
    yield Fact("headline", fmt.metric_words(report.summary.headline.name))
    if interval is not None:
        yield Fact("interval", f"{fmt.level(interval)}, {interval.method}")
        yield Fact("interval of", fmt.ESTIMAND)
    effect = {
        "exclude": "failed and missing samples are left out",
        "count-wrong": "failed and missing samples count as wrong",
        "withhold": "no score while a sample failed or is missing",
    }
    rule = report.run.failures
    most = rule.removeprefix("withhold>")
    told = f"no score while more than {most} of the samples failed or are missing"
    yield Fact("failures", effect.get(rule, rule if most == rule else told))
    for role, one in report.run.config.roles.items():
        told = ", ".join(f"{key} {value}" for key, value in sorted(one.facts.items()))
        yield Fact(fmt.words(role), f"{one.provider}/{one.name}" + (f" ({told})" if told else ""))
    if report.run.config.repeats > 1 or report.run.config.sampling:
        yield Fact("draws", draws_words(report))
    yield Fact("most new tokens", fmt.number(report.run.config.max_new_tokens))
    yield Fact("seed", str(report.run.config.seed))


def _run(run: RunInfo, folder: Path) -> Iterator[Fact]:
    counts = run.counts
    yield Fact("status", run.status)
    yield Fact("started", _time(run.created))
    if run.finished:
        yield Fact("finished", _time(run.finished))
    if run.config.fresh:
        yield Fact("asked anew under the name", run.config.fresh)
    requests = f"{fmt.number(counts.sent)} sent, {fmt.number(counts.reused)} from the store"
    yield Fact("requests, latest start", requests)
    if run.reused.replies:
        yield Fact("replies made before the run", run.reused.sentence(run.model))
    if counts.saved:
        yield Fact("saved by early stop", fmt.plural(counts.saved, "request"))
    if run.stopped:
        yield Fact("stopped", run.stopped)
    yield Fact("folder", folder.name, True)


def _resources(run: RunInfo) -> Iterator[Fact]:
    """Time, memory, tokens and money, as far as they are known."""
    counts = run.counts
    if counts.seconds:
        yield Fact("wall time, latest start", fmt.duration(counts.seconds))
    if counts.device_memory:
        yield Fact("device memory, highest", fmt.size(counts.device_memory))
    if counts.process_memory:
        yield Fact("process memory, highest", fmt.size(counts.process_memory))
    if counts.largest_batch:
        yield Fact("largest batch", fmt.plural(counts.largest_batch, "prompt"))
    for role, spent in run.spent.items():
        if spent.seconds:
            yield Fact(f"time of the {fmt.words(role)}, summed", fmt.duration(spent.seconds))
        told = fmt.spending(spent)
        if told:
            yield Fact(f"{fmt.words(role)}, all starts", told)
        if spent.price is not None:
            yield Fact(f"price of the {fmt.words(role)}", _price(spent.price))


def _price(price: Price) -> str:
    cached = "" if price.cached is None else f", {price.cached:g} cached"
    where = ", ".join(filter(None, (price.source, price.date)))
    listed = (
        f"{price.input:g} in{cached}, {price.output:g} out, {price.currency} per million tokens"
    )
    return f"{listed} ({where})" if where else listed


def _time(text: str) -> str:
    """An ISO time for people: seconds are enough, the zone is said."""
    date, _, clock = text.partition("T")
    return f"{date} {clock[:8]} UTC" if clock else text


def _sorted(facts: Mapping[str, str]) -> Iterator[Fact]:
    for name in sorted(facts):
        yield Fact(fmt.words(name), facts[name], len(facts[name]) > 30 and " " not in facts[name])

"""The page of benchmarks, from the registry: `docs/generate.py` calls `page`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from page_cells import cell, escaped

from snellen.benchmarks.declaration.evidence import evidence_level, evidence_of
from snellen.benchmarks.declaration.option_docs import OptionDoc, option_docs
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.core.benchmark import Benchmark

_OFTEN = 9
"""An option that so many benchmarks have is explained once, at the top."""
_HEAD = """# Benchmarks

<!-- Written by docs/generate.py. Edit the code, then run it again. -->

Each is opened by its name or by one of the names other tools have for it. Options follow the name:
`NAME:key=value,...`. A data file of your own is a benchmark too: see
[A benchmark of your own](own-benchmark.md).

*exact* means that the authors' own rule for scores is implemented; *generic type*, a rule of the
same type; *inference only*, that replies are collected and not scored. None is called exact unless
somebody else's numbers or verdicts say so: [Evidence](evidence.md)."""


class Entry(NamedTuple):
    """A registered benchmark with its defaults."""

    name: str
    aliases: Sequence[str]
    benchmark: Benchmark
    options: Sequence[OptionDoc]


def page() -> str:
    """Raises nothing of its own: every registered benchmark opens without data."""
    entries = [
        Entry(one.name, one.aliases, made, option_docs(made.options))
        for one in list_benchmarks()
        for made in [open_benchmark(one.name)]
    ]
    common = _common(entries)
    lines = [*_HEAD.splitlines(), "", *_overview(entries), "", *_common_options(common)]
    for entry in entries:
        lines += ["", *_section(entry, common)]
    return "\n".join(lines) + "\n"


def _overview(entries: Iterable[Entry]) -> Iterator[str]:
    yield "| name | what it is | headline | rule | evidence |"
    yield "| --- | --- | --- | --- | --- |"
    for name, _, benchmark, _ in entries:
        title = escaped(benchmark.title)
        facts = (benchmark.headline, benchmark.coverage, evidence_level(name))
        yield f"| [{name}](#{name}) | {title} | {' | '.join(facts)} |"


def _common(entries: Iterable[Entry]) -> Mapping[str, OptionDoc]:
    """The options that many benchmarks have, with the values and the default of most of them."""
    known: dict[str, Counter[OptionDoc]] = {}
    for entry in entries:
        for option in entry.options:
            known.setdefault(option.name, Counter())[option] += 1
    most = {name: counts.most_common(1)[0] for name, counts in known.items()}
    return {name: option for name, (option, count) in most.items() if count >= _OFTEN}


def _common_options(common: Mapping[str, OptionDoc]) -> Iterator[str]:
    yield from ("## Options of many benchmarks", "")
    yield "A benchmark below names those that it has; only what is different there is told again."
    yield from ("", *_options(common.values()))


def _options(options: Iterable[OptionDoc]) -> Iterator[str]:
    yield "| option | default | values | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, default, values, meaning in options:
        yield f"| `{name}` | `{default}` | {values} | {escaped(meaning)} |"


def _section(entry: Entry, common: Mapping[str, OptionDoc]) -> Iterator[str]:
    benchmark = entry.benchmark
    evidence = evidence_of(entry.name)
    yield from (f"## {entry.name}", "", f"{escaped(benchmark.title)}.", "")
    usual = [one.name for one in entry.options if common.get(one.name) == one]
    own = [one for one in entry.options if common.get(one.name) != one]
    facts = {
        "version": f"`{benchmark.version}`",
        "headline": benchmark.headline,
        "rule": benchmark.coverage,
        "evidence": evidence.summary() if evidence else "",
        "not scored": escaped(benchmark.unscorable),
        "rules for replies": _code(benchmark.rules),
        "longest reply": f"{benchmark.max_new_tokens} tokens",
        "usual options": _code(usual),
        "also called": _code(entry.aliases),
        "paper": f"<{benchmark.paper}>" if benchmark.paper else "",
        "data": escaped(benchmark.provenance),
        "on first use": "downloaded and checked" if benchmark.fetch else "shipped with Snellen",
    }
    yield from ("|  |  |", "| --- | --- |")
    yield from (f"| {name} | {cell(fact)} |" for name, fact in facts.items() if fact)
    if own:
        yield from ("", *_options(own))


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)

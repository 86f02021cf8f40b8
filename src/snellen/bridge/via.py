"""The replies to a benchmark of Snellen's own, scored by another tool's code as well: both numbers
side by side, sample by sample. Nothing is asked but judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.peers import PEERS, parse_peer_name
from snellen.benchmarks.declaration.registry import benchmark_sources, split_spec
from snellen.bridge.catalogue import read_catalogue
from snellen.core.errors import UnknownName, UsageError
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.scoring.disagreements import Disagreement, disagreements

VIA = "via:"
"""Begins a rule that names a tool: `via:vlmevalkit`, or a task of it with options."""
_CLOSE = 1e-6


def find_task(rule: str, benchmark: str, parameters: Mapping[str, str]) -> str:
    """The name with options of the tool's benchmark that a rule means: the one it names, else the
    one whose name stands for this benchmark with these parameters. Raises UsageError."""
    named = rule.removeprefix(VIA)
    name, _ = split_spec(named)
    peer = parse_peer_name(name)
    if peer is not None:
        return named
    if name.lower() not in PEERS:
        raise UnknownName("tool", name, PEERS)
    tool, options = name.lower(), named[len(name) :]
    fitting = sorted(_alike(tool, benchmark, parameters), key=lambda one: (-len(one[1]), one[0]))
    if not fitting:
        raise UsageError(
            f"no task of {PEERS[tool]} is known to be {benchmark} with these options; name it: "
            f"--rule {VIA}{tool}/TASK (snellen list benchmarks --from {tool})"
        )
    return f"{tool}/{fitting[0][0]}{options}"


def _alike(tool: str, benchmark: str, parameters: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The tool's names for the benchmark, with the options that each stands for."""
    names = {task.name for task in read_catalogue(tool).tasks()}
    source = benchmark_sources()[benchmark]() if benchmark in benchmark_sources() else None
    for alias, options in (source.aliases if isinstance(source, Declaration) else {}).items():
        if alias in names and options.items() <= parameters.items():
            yield alias, options
    letters = _letters(benchmark)
    yield from ((name, {}) for name in names if _letters(name) == letters)


def replies_of(records: Sequence[Record], name: str) -> dict[str, str]:
    """The reply to each question. Raises UsageError where one question has several."""
    replies = {}
    for record in records:
        if len(record.passes) > 1 or record.repeats:
            raise UsageError(
                f"{name} asked questions several times (--circular or --repeats), and another tool's code scores "
                "one reply to each; give replies of --circular off"
            )
        for one in record.passes:
            if isinstance(one.output, Generated):
                replies[record.id] = one.output.text
    if not replies:
        raise UsageError(f"{name} holds no reply to score")
    return replies


def find_differences(rules: Mapping[str, Sequence[Record]]) -> list[Disagreement]:
    """The replies that the two, by their names, score differently. Raises UsageError where an id
    names another question in the tool's data."""
    (own, mine), (via, theirs) = rules.items()
    by_id = {record.id: record for record in theirs}
    pairs = [(record, by_id[record.id]) for record in mine if record.id in by_id]
    other = [one.id for one, its in pairs if not _same_question(one.question, its.question)]
    if other:
        raise UsageError(
            f"{len(other)} of {len(pairs)} ids name other questions in the data of {via}, {other[0]!r} first: its "
            f"data are others than those of {own}"
        )
    differing = [(one, its) for one, its in pairs if None not in (one.score, its.score) and not _alike_scores(one, its)]
    return disagreements({own: [one for one, _ in differing], via: [its for _, its in differing]})


def _alike_scores(one: Record, other: Record) -> bool:
    return abs((one.score or 0.0) - (other.score or 0.0)) <= _CLOSE


def _same_question(own: str, theirs: str) -> bool:
    """Whether one is a part of the other: tools add options and instructions."""
    one, other = _letters(own), _letters(theirs)
    return one in other or other in one


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))

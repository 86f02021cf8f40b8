"""What every benchmark's numbers rest on: counts it, and writes the page.

    python docs/evidence.py       counts into src/snellen/benchmarks/data/evidence.json, with paths
                                  and differences into docs/data/evidence.json, and the headlines
                                  into docs/data/headlines.json
    python docs/generate.py       writes docs/evidence.md from these files

Counted are the published numbers of `docs/data/reproduction.json`, the judged sets of
`tests/differential`, and the paper tables that `docs/reproduce.py` names.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Literal

import msgspec
from msgspec import Struct

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from page_cells import escaped  # noqa: E402
from reproduce import FORMULAS, SETS, read_counts  # noqa: E402
from tests.differential.compare import compare, covered, explanations_of, headline_row  # noqa: E402
from tests.differential.sets import OWN, all_sets, read_header, read_set  # noqa: E402

from snellen.benchmarks.declaration.evidence import LEVELS, BenchmarkEvidence, EvidenceComparison, load_evidence  # noqa: E402
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark, split_spec  # noqa: E402

FILE = ROOT / "src" / "snellen" / "benchmarks" / "data" / "evidence.json"
STORIES = Path(__file__).parent / "data" / "differences.txt"
COMPARISONS = Path(__file__).parent / "data" / "evidence.json"
HEADLINES = Path(__file__).parent / "data" / "headlines.json"
_LEAST_REPLIES, _LEAST_STYLES = 300, 100
_HEAD = """# Evidence

<!-- Written by docs/generate.py from src/snellen/benchmarks/data/evidence.json, which
docs/evidence.py counts. -->

What each benchmark's numbers rest on. A number is right when somebody else's data or code says so:
the level of a benchmark is counted, never claimed.

| evidence | where |
| --- | --- |
| which level each benchmark has, and what was compared | [every benchmark](#every-benchmark), below |
| published predictions of real models, scored here, beside the official numbers | \
[Numbers reproduced](reproduction.md) |
| what the five papers define, and the numbers that they print, recomputed | [The papers](papers.md) |
| small language models as MMBench's second step and as judges, beside the rules | \
[A language model as reader and judge](#a-language-model-as-reader-and-judge), below |
| one command over every benchmark | [Every kind of benchmark, run](#every-kind-of-benchmark-run), below |
| coverage of intervals and sizes of tests, simulated | [Statistics](statistics.md) |
| hostile input, crashes and kills | [Attacks](attacks.md) |
| what the steps of `snellen curate` find, and miss | [What the steps of curation find and miss](curate/evidence.md) |

A benchmark has one of four levels:

* **reproduced**: published predictions of real models, scored by Snellen, give the published
  number ([Numbers reproduced](reproduction.md)).
* **differential**: the authors' own scorer, or that of the tool whose numbers people quote, judged
  at least 300 replies in at least 100 styles in the benchmark's own layout. Snellen's rule of that
  name gave the same verdict on every row, or the difference is explained below.
* **formula**: the tables of the paper follow from the formulas.
* **from the text**: nothing was compared, or too little; the rule is a reading of the authors'
  description.

The rule that was compared is the one that is named: `--rule official` is the authors', `--rule
vlmevalkit` VLMEvalKit's. Snellen's default rule reads more replies than either; `snellen score ...
--rule all` shows what that changes on a file of yours. The replies of the differential level are
made up for the purpose and lie in `tests/differential/sets`; `make differential` has them judged
anew, given the checkouts.

Hostile replies are drawn by a seed: empty ones, error messages, ones that are cut off in a thought
or a sentence, longer than 5,000 characters, words for nothing, single letters, lists, objects,
sentences in ten languages, and options that are letters or words for nothing. A set holds at least
three of each, but for those that its scorer cannot read at all (`tests/differential/hostile.py`
names them). {drawn} `make differential SEED=N` draws others."""
_HEADLINES_HEAD = """## The tool's headline, and ours

Who names the rule of a tool gets that tool's number. Each line is a judged set: how many replies
the headline is over, how many of them are error messages, rows without a prediction, and empty
ones, the number that the tool prints first, and what `snellen score --rule` of that rule prints
over the same replies. All {count} are the same to the digit, which a test checks. Rows whose
verdict differs for a reason below, or hangs on a random draw of the tool, are in neither number."""


class VerdictDifference(Struct, frozen=True):
    """Verdicts that differ from the other scorer's, for one cause."""

    cause: str
    right: Literal["snellen", "theirs", "convention"]
    """Whose verdict is right; `convention` where both can be defended."""
    count: int


class CountedComparison(EvidenceComparison, frozen=True, omit_defaults=True, kw_only=True):
    """A comparison as it is counted, with what only the page and the tests read."""

    styles: int = 0
    """Ways of replying among the replies."""
    path: str = ""
    """The scoring function in the repository."""
    licence: str = ""
    differences: tuple[VerdictDifference, ...] = ()


def load_comparisons() -> dict[str, tuple[CountedComparison, ...]]:
    """The comparisons of every registered benchmark, the strongest level first."""
    return msgspec.json.decode(COMPARISONS.read_bytes(), type=dict[str, tuple[CountedComparison, ...]])


def counted() -> dict[str, tuple[CountedComparison, ...]]:
    found: dict[str, list[CountedComparison]] = defaultdict(list)
    for name, comparison in (*_published(), *_judged(), *_tables()):
        found[name].append(comparison)
    return {
        known.name: tuple(sorted(found[known.name], key=lambda one: LEVELS.index(one.level)))
        for known in list_benchmarks()
    }


def _entry(comparisons: Sequence[CountedComparison]) -> BenchmarkEvidence:
    """What the package says of a benchmark."""
    enough = [one.level for one in comparisons if _is_enough(one)]
    names = EvidenceComparison.__struct_fields__
    shown = (EvidenceComparison(*(getattr(one, name) for name in names)) for one in comparisons)
    return BenchmarkEvidence(enough[0] if enough else "from the text", tuple(shown))


def _is_enough(comparison: CountedComparison) -> bool:
    """Whether a comparison carries its level: one published number that comes out, or a set that
    is large enough and explained to the last row."""
    if comparison.level != "differential":
        return comparison.agreeing > 0
    explained = sum(one.count for one in comparison.differences)
    return (
        comparison.compared >= _LEAST_REPLIES
        and comparison.styles >= _LEAST_STYLES
        and comparison.agreeing + explained == comparison.compared
    )


def _published() -> Iterator[tuple[str, CountedComparison]]:
    entries = [entry for entry in read_counts() if entry.benchmark in SETS]
    for title in dict.fromkeys(entry.benchmark for entry in entries):
        of_it = [entry for entry in entries if entry.benchmark == title]
        causes = Counter(entry.because for entry in of_it if not entry.agrees)
        yield (
            SETS[title],
            CountedComparison(
                "reproduced",
                "; ".join(dict.fromkeys(entry.source for entry in of_it)),
                sum(entry.agrees for entry in of_it),
                len(of_it),
                setting=title,
                differences=tuple(
                    VerdictDifference(cause or "not explained", "convention", count) for cause, count in causes.items()
                ),
            ),
        )


def _judged() -> Iterator[tuple[str, CountedComparison]]:
    headlines = []
    for path in all_sets():
        judged = read_set(path)
        with tempfile.TemporaryDirectory() as folder:
            result = compare(judged, Path(folder))
        headlines += filter(None, [headline_row(judged, result)])
        causes: Counter[tuple[str, str]] = Counter()
        for reason in explanations_of(judged.name):
            causes[reason.cause, reason.right] += covered(judged, result, reason)
        spec = split_spec(judged.benchmark)
        yield (
            open_benchmark(judged.benchmark).name,
            CountedComparison(
                "differential",
                judged.source["repository"],
                result.compared - len(result.differing),
                result.compared,
                rule=judged.rule,
                styles=result.styles,
                path=judged.source["path"],
                commit=judged.source["commit"],
                licence=judged.source["licence"],
                setting=",".join(f"{key}={value}" for key, value in spec.options.items()),
                differences=tuple(
                    VerdictDifference(cause, right, count)  # type: ignore[arg-type]
                    for (cause, right), count in causes.items()
                    if count
                ),
            ),
        )
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in headlines)
    HEADLINES.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _tables() -> Iterator[tuple[str, CountedComparison]]:
    for name, (source, agreeing, compared) in FORMULAS.items():
        yield name, CountedComparison("formula", source, agreeing, compared)


def page() -> str:
    """docs/evidence.md."""
    evidence = load_comparisons()
    levels = Counter(one.level for one in load_evidence().values())
    head = _HEAD.replace("{drawn}", _draws())
    lines = [*head.splitlines(), "", "| level | benchmarks |", "| --- | ---: |"]
    lines += [f"| {level} | {levels[level]} |" for level in LEVELS]
    lines += ["", "## Every benchmark", "", *_overview(evidence)]
    lines += ["", *_headlines()]
    lines += ["", *STORIES.read_text(encoding="utf-8").splitlines()]
    lines += ["", "## What differs, and who is right", "", *_differences(evidence)]
    return "\n".join(lines) + "\n"


def _draws() -> str:
    """How many sets were drawn by which seed and when."""
    headers = [read_header(path).get("drawn", {}) for path in all_sets()]
    draws = Counter((one["seed"], one["date"]) for one in headers if one.get("date"))
    said = ", ".join(
        f"{count} of the {len(headers)} sets by seed {seed} on {date}" for (seed, date), count in sorted(draws.items())
    )
    return f"Drawn are {said}."


def _overview(evidence: Mapping[str, Sequence[CountedComparison]]) -> Iterator[str]:
    yield "| benchmark | level | compared with | rule | commit | n | styles | agree |"
    yield "| --- | --- | --- | --- | --- | ---: | ---: | ---: |"
    for name, comparisons in evidence.items():
        label = f"[{name}](benchmarks.md#{name})"
        for comparison in comparisons or (None,):
            yield f"| {' | '.join([label, *_cells(comparison)])} |"
            label = ""


def _headlines() -> Iterator[str]:
    rows = json.loads(HEADLINES.read_text(encoding="utf-8"))
    yield from _HEADLINES_HEAD.replace("{count}", str(len(rows))).splitlines()
    yield ""
    yield "| benchmark | rule | replies | failed | missing | empty | theirs | | ours | |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | --- | ---: |"
    for row in rows:
        counts = " | ".join(f"{row[key]:,}" for key in ("replies", "failed", "missing", "empty"))
        yield (
            f"| {escaped(row['benchmark'])} | `{row['rule']}` | {counts} | {escaped(row['name'])} "
            f"| {row['theirs']:.4f} | {escaped(row['metric'])} | {row['ours']:.4f} |"
        )
    headers = [read_header(path) for path in all_sets()]
    without = [one for one in headers if "headline" not in one]
    own = sum(one["rule"] == OWN for one in without)
    named = sorted(one["benchmark"] for one in without if one["rule"] != OWN)
    yield ""
    yield from wrap(
        f"{own} sets of Snellen's own rule promise nobody's headline: a judge grades, or the tool "
        "has no rule of its own. In the sets of "
        + ", ".join(f"`{name}`" for name in named)
        + " the tool prints a number for each task and none for all, or what was judged is a "
        "function of single replies.",
        100,
    )


def _cells(comparison: CountedComparison | None) -> Sequence[str]:
    if comparison is None:
        return ("from the text", "nothing", "", "", "", "", "")
    source = f"{comparison.source}: {comparison.path}" if comparison.path else comparison.source
    if comparison.setting and comparison.level == "differential":
        source = f"{source} ({comparison.setting})"
    return (
        comparison.level,
        escaped(source),
        f"`{comparison.rule}`" if comparison.rule else "",
        f"`{comparison.commit[:7]}`" if comparison.commit else "",
        f"{comparison.compared:,}",
        str(comparison.styles or ""),
        f"{comparison.agreeing:,}",
    )


def _differences(evidence: Mapping[str, Sequence[CountedComparison]]) -> Iterator[str]:
    """Each cause once, with the benchmarks that it touches."""
    yield "| cause | right | rows | where |"
    yield "| --- | --- | ---: | --- |"
    rows: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, comparisons in evidence.items():
        for comparison in comparisons:
            for difference in comparison.differences:
                key = (difference.cause, difference.right)
                rows[key] += difference.count
                if name not in places[key]:
                    places[key].append(name)
    for (cause, right), count in rows.most_common():
        yield f"| {escaped(cause)} | {right} | {count} | {', '.join(places[cause, right])} |"


def main() -> None:
    comparisons = counted()
    evidence = {name: _entry(ones) for name, ones in comparisons.items()}
    for path, value in ((COMPARISONS, comparisons), (FILE, evidence)):
        path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
    print(Counter(one.level for one in evidence.values()))


if __name__ == "__main__":
    main()

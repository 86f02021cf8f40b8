"""The plots of the gallery in docs/analyses.md.

    python docs/gallery.py count RUNS TABLES   takes the numbers anew into docs/data/gallery.json
    python docs/gallery.py [--check]           draws docs/images/gallery from that file

RUNS holds runs of random, snellen/tiny and snellen/tiny-early on eyechart (`--circular full`), the
last two with `--control blind` too. TABLES holds the papers' printed tables as CSV files: the
folder packages/hub/src/snellen_hub/reported_numbers/tables. The numbers that are drawn are in
gallery.json. With `--check` nothing is written; the exit code is 1 if the names and numbers in an
image differ from what would be drawn. (The shapes may differ from one version of matplotlib to
another.)
"""

from __future__ import annotations

import csv
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from msgspec import Struct
from msgspec import json as msgjson

from snellen.analysis.causes.gains import gains
from snellen.analysis.findings.abilities import abilities, hard_samples
from snellen.analysis.findings.choices import choices
from snellen.analysis.findings.score_tables import scores_from_csv, scores_from_reports, select_scores
from snellen.benchmarks.abilities.mme.boards import build_boards, parse_printed_scores
from snellen.benchmarks.abilities.mmt_bench.tasks import by_capability, by_image_type, find_subtask
from snellen.benchmarks.abilities.seedbench.levels import dimension_by_name, dimensions, group_by_subpart
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.summary import Interval
from snellen.data.tables.open_table import open_table
from snellen.report.plots.figure import to_svg
from snellen.report.plots.hard_cards import HardSampleCard, draw_cards
from snellen.report.plots.ranks import heat_map, leaderboard_plot
from snellen.report.plots.series import Value, dot_plot, radar_plot, stacked_bars
from snellen.scoring.grouped import mean_of_all
from snellen.scoring.leaderboard import Leaderboard, LeaderboardRow
from snellen.store.runs import find_runs

FOLDER = Path(__file__).parent
NUMBERS = FOLDER / "data" / "gallery.json"
IMAGES = FOLDER / "images" / "gallery"
EYECHART_MODELS = ("random", "snellen/tiny-early", "snellen/tiny")
OPEN_AND_CLOSED = ("GPT-4v", "Gemini-Pro-V", "Qwen-VL-Max", "LLaVA-InternLM2-20B")
MME_MODELS = ("GPT-4V", "WeMM", "Lion", "SPHINX", "InfMLLM", "XComposer-VL")
MMT_MODELS = ("GeminiProVision", "XComposer2", "BLIP2", "LLaVA-v1.5-13B")
"""None of the ten whose columns are shifted in the paper (see papers.md)."""
SEED_MODELS = 18
SEED_DOUBTFUL = ("LLaVA", "LLaVA-Next", "GVT", "Yi-VL", "Claude-3-Opus")
"""Models of whose rows a cell is lost, wrong or shifted (see papers.md)."""
L2 = ("CP", "FP-S", "FP-C", "AR", "LR", "RR")
HARDEST, PLACES = 4, 10

Numbers = dict[str, dict[str, float]]


class Case(Struct, frozen=True):
    ability: str
    best: float
    sample: str
    answers: dict[str, str]


class Gallery(Struct, frozen=True):
    """Everything that is drawn. Triples are value, lower and upper end of the interval."""

    letters: Numbers
    abilities: dict[str, dict[str, tuple[float, float, float]]]
    hard: list[Case]
    blind: Numbers
    languages: Numbers
    open_and_closed: Numbers
    mme_boards: dict[str, list[tuple[int, str, float]]]
    mme_subtasks: Numbers
    image_types: Numbers
    capabilities: Numbers
    error_types: Numbers
    seed_dimensions: dict[str, dict[str, float | None]]


MMT_ERRORS: Numbers = {
    "GPT-4V": {
        "perception": 51.0,
        "reasoning": 9.94,
        "capability": 19.0,
        "refusal": 6.11,
        "instruction": 2.99,
        "not stated apart": 10.96,
    },
    "GeminiProVision": {"perception": 76.9, "reasoning": 10.4, "instruction": 1.14, "not stated apart": 11.56},
    "InternVL-Chat-V1.2": {"perception": 67.2, "reasoning": 14.8, "instruction": 6.64, "not stated apart": 11.36},
}
"""What Sec. 4.4 of MMT-Bench says of its Fig. 4; the rest is in the figure alone."""


def count(runs: Path, tables: Path) -> Gallery:
    """The numbers from runs and tables."""
    from snellen.api.report import report_of

    found = {(run.info.model, run.info.config.parameters.get("control")): run for run in find_runs(runs)}
    seeing = [found[model, None] for model in EYECHART_MODELS]
    table = scores_from_reports([report_of(run) for run in seeing], EYECHART_MODELS, "category")
    ordered = abilities(table)
    cases = []
    for one in ordered[:HARDEST]:
        (case,) = hard_samples(seeing, "category", [one.name], 1)
        told = (answer or "none" for answer in case.answers)
        answers = dict(zip(EYECHART_MODELS, told, strict=True))
        cases.append(Case(one.name.replace("_", " "), one.best.value, case.record.id, answers))
    return Gallery(
        letters=_letters(seeing),
        abilities={
            model: {
                name.replace("_", " "): (one.value, one.interval.low, one.interval.high)
                for name, one in scores.items()
                if one.interval is not None
            }
            for model, scores in table.scores.items()
        },
        hard=cases,
        blind=_blind(list(found.values())),
        languages=_languages(tables),
        open_and_closed=_open_and_closed(tables),
        **_mme(tables),
        image_types=_mmt(tables, by_image_type()),
        capabilities=_mmt(tables, by_capability()),
        error_types=MMT_ERRORS,
        seed_dimensions=_seed(tables),
    )


def _letters(runs: Sequence) -> Numbers:
    made = {run.info.model: choices(run.records()) for run in runs}
    gold = {label: float(count) for label, count in made[EYECHART_MODELS[0]].gold.items()}
    rows = {model: {one.label: float(one.chosen) for one in found.letters} for model, found in made.items()}
    return {"gold answers": gold, **rows}


def _blind(runs: Sequence) -> Numbers:
    found: Numbers = {"with images": {}, "without images": {}}
    for one in gains(runs, group="category"):
        if one.model == "snellen/tiny" and one.value == "blind" and one.group:
            found["with images"][one.group.replace("_", " ")] = one.base_score
            found["without images"][one.group.replace("_", " ")] = one.score
    return found


def _languages(tables: Path) -> Numbers:
    held = {
        language: scores_from_csv(open_table(str(tables / f"mmbench_{name}.csv"))).scores
        for language, name in (("English", "table11_test_l2"), ("Chinese", "table13_cn_test_l2"))
    }
    shared = [name for name in held["English"] if name in held["Chinese"]]
    shared.sort(key=lambda name: sum(scores[name]["overall"].value for scores in held.values()))
    return {language: {name: scores[name]["overall"].value for name in shared} for language, scores in held.items()}


def _open_and_closed(tables: Path) -> Numbers:
    table = scores_from_csv(open_table(str(tables / "mmbench_table11_test_l2.csv")))
    return _plain(select_scores(table, OPEN_AND_CLOSED, L2).scores)


def _mme(tables: Path) -> dict[str, dict]:
    file = open_table(str(tables / "mme_subtasks.csv"))
    boards = build_boards(parse_printed_scores(file).scores, PLACES)
    subtasks = _plain(select_scores(scores_from_csv(file), MME_MODELS).scores)
    return {
        "mme_boards": {
            one.name: [(rank, model, round(score, 4)) for rank, model, score in one.places] for one in boards
        },
        "mme_subtasks": subtasks,
    }


def _mmt(tables: Path, members: Mapping[str, Sequence[str]]) -> Numbers:
    held: Numbers = {model: {} for model in MMT_MODELS}
    for row in _rows(tables / "mmt_subtask_scores.csv"):
        task = find_subtask(row["subtask"])
        if task is not None:
            for model, accuracies in held.items():
                accuracies[task.name] = float(row[model])
    return {
        model: {
            group: round(mean, 4)
            for group, names in members.items()
            if (mean := mean_of_all(values, names)) is not None
        }
        for model, values in held.items()
    }


def _seed(tables: Path) -> dict[str, dict[str, float | None]]:
    """All but the single-image dimensions, whose table cannot be read reliably; of the models
    with the most dimensions, in the order of the paper."""
    found: dict[str, dict[str, float | None]] = {}
    for file in ("seed_table5_multi_video.csv", "seed_table6_interleaved_generation.csv"):
        for row in _rows(tables / file):
            cells = {name: row[name] for name in row if dimension_by_name(name) is not None}
            found.setdefault(row["model"], {}).update(
                {name: None if cell in ("-", "") else float(cell) for name, cell in cells.items()}
            )
    asked = max(len(one) for one in found.values())
    whole = {model: one for model, one in found.items() if len(one) == asked and model not in SEED_DOUBTFUL}
    able = sorted(whole, key=lambda model: sum(one is None for one in whole[model].values()))
    kept = set(able[:SEED_MODELS])
    return {model: one for model, one in whole.items() if model in kept}


def _plain(scores: Mapping) -> Numbers:
    return {
        model: {name.replace("_", " "): round(one.value, 4) for name, one in held.items()}
        for model, held in scores.items()
    }


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def draw_all(numbers: Gallery) -> dict[str, str]:
    """The text of every SVG file by its name."""
    return {name: to_svg(draw(numbers)) for name, draw in DRAWINGS.items()}


def names_and_numbers(svg: str) -> list[str]:
    """What an SVG file says: its texts, and what it shows where it is pointed at."""
    return [
        "".join(node.itertext()).strip()
        for node in ET.fromstring(svg).iter()
        if node.tag.rpartition("}")[2] in ("text", "title")
    ]


def _values(numbers: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, Value]]:
    return {name: {row: Value(value) for row, value in values.items()} for name, values in numbers.items()}


def _values_with_intervals(numbers: Gallery) -> dict[str, dict[str, Value]]:
    return {
        model: {name: Value(value, Interval(low, high, "wilson")) for name, (value, low, high) in values.items()}
        for model, values in numbers.abilities.items()
    }


def _leaderboards(numbers: Gallery) -> Figure:
    boards = [
        Leaderboard(name, tuple(LeaderboardRow(*row) for row in rows), len(rows), 0)
        for name, rows in numbers.mme_boards.items()
    ]
    return leaderboard_plot({"MME leaderboards": boards})


def _hard_samples(numbers: Gallery) -> Figure:
    benchmark = open_benchmark("eyechart", Variant())
    ids = {case.sample for case in numbers.hard}
    samples = {each.id: each for each in benchmark.samples(benchmark.open()) if each.id in ids}
    cards = []
    for case in numbers.hard:
        sample = samples[case.sample]
        images = [ref.source.read() for ref in sample.media]
        cards.append(
            HardSampleCard(case.ability, case.best, sample.question, sample.options, sample.gold, case.answers, images)
        )
    return draw_cards("Wrong in every run: the hardest abilities of eyechart", cards)


def _ranks(numbers: Gallery) -> Figure:
    columns = next(iter(numbers.seed_dimensions.values()))
    groups = [
        group._replace(members=tuple(name for name in group.members if name in columns))
        for group in group_by_subpart(dimensions())
    ]
    title = f"SEED-Bench-H: ranks in {len(columns)} dimensions"
    return heat_map(numbers.seed_dimensions, [group for group in groups if group.members], title)


DRAWINGS: Mapping[str, Callable[[Gallery], Figure]] = {
    "mmbench-fig1.svg": lambda numbers: radar_plot("Eyechart, by ability", _values_with_intervals(numbers)),
    "mmbench-fig4.svg": lambda numbers: stacked_bars("Letters chosen and gold letters", numbers.letters),
    "mmbench-fig7.svg": lambda numbers: dot_plot("MMBench test, English and Chinese", _values(numbers.languages)),
    "mmbench-fig9.svg": lambda numbers: dot_plot(
        "MMBench test, by ability", _values(numbers.open_and_closed), connect=False
    ),
    "mmbench-fig10.svg": _hard_samples,
    "mme-fig2.svg": _leaderboards,
    "mme-fig3.svg": lambda numbers: radar_plot("MME, by subtask", _values(numbers.mme_subtasks), top=200.0),
    "mmt-fig4.svg": lambda numbers: stacked_bars("MMT-Bench, why answers are wrong", numbers.error_types),
    "mmt-figa3.svg": lambda numbers: dot_plot("MMT-Bench, by image type", _values(numbers.image_types), connect=False),
    "mmt-figa4.svg": lambda numbers: dot_plot("MMT-Bench, by capability", _values(numbers.capabilities), connect=False),
    "mmt-tablea13.svg": lambda numbers: dot_plot(
        "snellen/tiny on eyechart, with and without the images", _values(numbers.blind)
    ),
    "seed-fig10.svg": _ranks,
}


def main(argv: Sequence[str]) -> int:
    if len(argv) == 3 and argv[0] == "count":
        numbers = count(Path(argv[1]), Path(argv[2]))
        NUMBERS.write_bytes(msgjson.format(msgjson.encode(numbers), indent=1) + b"\n")
    elif argv and list(argv) != ["--check"]:
        print(__doc__, file=sys.stderr)
        return 2
    drawn = draw_all(msgjson.decode(NUMBERS.read_bytes(), type=Gallery))
    if list(argv) == ["--check"]:
        stored = {path.name: names_and_numbers(path.read_text()) for path in IMAGES.glob("*.svg")}
        expected = {name: names_and_numbers(text) for name, text in drawn.items()}
        stale = [name for name in {**stored, **expected} if stored.get(name) != expected.get(name)]
        for name in stale:
            print(f"docs/images/gallery/{name} differs; run docs/gallery.py", file=sys.stderr)
        return 1 if stale else 0
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, text in drawn.items():
        (IMAGES / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Precision and recall of the choice rules on replies of real models, by language.

    python -m tests.extract.languages WORLDMEDQA LAWBENCH KOREAN LEXEVAL DISC

The five folders are checkouts of the repositories and commits in `SOURCES`; their replies are not
stored here. `labels.tsv` has for each reply its digest and the option that it states ("N": none, or
several) by the first annotator and, of those that were annotated twice, by the second; both saw the
reply and its options alone. "ko 2" and "zh 2" were drawn after the rules were written, "zh 3" are
replies whose verdict a later change moved. A reply of `labels.tsv` that the folders lack ends the
script.

    python -m tests.extract.languages --disagreements      what the two annotators label differently
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import openpyxl

from snellen.core.output import ParsedAnswer
from snellen.extract.choice import parse_choice
from snellen.stats.intervals import wilson

LABELS = Path(__file__).with_name("labels.tsv")
SOURCES = {
    "WorldMedQA/V": ("ec9c474784319bcd5ec3d2c4642a8fcde2548165", "MIT"),
    "open-compass/LawBench": ("e30981bb3ff54c41571f222e0b23e92d27375388", "Apache-2.0"),
    "hsr87/evaluate-llm-on-korean-dataset": ("dc312a71d407d47c9979fdd02a8d19693f3b40dc", "MIT"),
    "CSHaitao/LexEval": ("044c695f62894deef41ad9a30797e1da0404945c", "MIT"),
    "FudanDISC/DISC-LawLLM": ("f40d023488b4deb5eb369c85d4e9e8ebcde35c95", "Apache-2.0"),
}
Row = tuple[dict[str, str], str]
"""Options by label, and a reply."""


def digest(options: dict[str, str], reply: str) -> str:
    """What names a reply to a question in `labels.tsv`."""
    text = json.dumps(options, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(f"{reply}\0{text}".encode()).hexdigest()[:16]


def worldmedqa_rows(folder: Path) -> Iterator[Row]:
    for path in sorted(folder.glob("visuals/outputs_*/*/*.xlsx")):
        sheet = openpyxl.load_workbook(path, read_only=True).active
        head, *rows = sheet.iter_rows(values_only=True)
        for values in rows:
            row = dict(zip(head, values, strict=True))
            if row.get("prediction") is not None:
                filled = {label: str(row[label]) for label in "ABCDEFG" if row.get(label)}
                yield filled, str(row["prediction"])


def lawbench_rows(folder: Path) -> Iterator[Row]:
    for path in sorted(folder.glob("predictions/zero_shot/*/1-2.json")):
        for row in json.loads(path.read_text(encoding="utf-8")).values():
            asked = row["origin_prompt"]
            question = asked[0]["prompt"] if isinstance(asked, list) else asked
            found = re.search(r"A:(.*);B:(.*);C:(.*);D:(.*)$", question, re.DOTALL)
            if found:
                texts = (text.strip().rstrip("。") for text in found.groups())
                yield dict(zip("ABCD", texts, strict=True)), row["prediction"]


def korean_rows(folder: Path) -> Iterator[Row]:
    csv.field_size_limit(10**9)
    for path in sorted(folder.glob("results/*.csv")):
        name = path.name
        labels = "ABCD" if name.startswith("[KMMLU") else "ABCDE"
        labels = "ABCDEFGHIJ" if "KoBALT" in name else labels
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                yield dict.fromkeys(labels, ""), (row.get("response") or "").strip()


def lexeval_rows(folder: Path) -> Iterator[Row]:
    texts = r"\nA[:：](.*?)\nB[:：](.*?)\nC[:：](.*?)\nD[:：](.*?)(?:\nE[:：](.*?))?(?:\n|$)"
    for path in sorted(folder.glob("model_output/*/*/*.jsonl")):
        for line in filter(str.strip, path.read_text(encoding="utf-8").split("\n")):
            row = json.loads(line)
            question = row["input"]
            if path.parts[-3] == "few_shot":
                question = question[question.rfind("\nA:") - 1 :]
            found = re.search(texts, question, re.DOTALL)
            if found:
                pairs = zip("ABCDE", found.groups(), strict=True)
                yield {label: text.strip() for label, text in pairs if text}, row["output"]


def disc_rows(folder: Path) -> Iterator[Row]:
    for path in sorted(folder.glob("eval/stats/objective/*/single/*_results.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                filled = {label: (row.get(label) or "").strip() for label in "ABCD"}
                yield {label: text for label, text in filled.items() if text}, row["model_output"]


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Cohen's kappa of two annotators."""
    observed = sum(one == other for one, other in pairs) / len(pairs)
    ones, others = (Counter(labels) for labels in zip(*pairs, strict=True))
    chance = sum(ones[label] * others[label] for label in ones) / len(pairs) ** 2
    return (observed - chance) / (1 - chance)


def print_language(language: str, rows: Sequence[tuple[str | None, str, str]]) -> None:
    """One line: agreement, and precision by each annotator and by what both agree on."""
    twice = [(first, second) for _, first, second in rows if second]
    stated = [row for row in rows if row[1] != "N"]
    line = f"{language:5}{len(rows):5} replies, {len(stated):4} state one option, recall "
    line += f"{sum(value == first for value, first, _ in stated) / len(stated):.1%}"
    if twice:
        agreeing = sum(first == second for first, second in twice)
        line += f"; {agreeing} of {len(twice)} agree, kappa {kappa(twice):.3f}"
    read = [row for row in rows if row[0] is not None]
    for name, judged in (
        ("first", [(value, first) for value, first, _ in read]),
        ("second", [(value, second) for value, _, second in read if second]),
        ("agreed", [(value, first) for value, first, second in read if first == second]),
    ):
        if judged:
            right = sum(value == label for value, label in judged)
            interval = wilson(right, len(judged))
            line += f"; {name} {right} of {len(judged)} right, "
            line += f"{interval.low:.1%} to {interval.high:.1%}"
    print(line)


def main(folders: list[str]) -> None:
    labels = list(csv.reader(LABELS.open(encoding="utf-8"), delimiter="\t"))
    if folders == ["--disagreements"]:
        print(*("\t".join(row) for row in labels if row[3] and row[2] != row[3]), sep="\n")
        return
    wanted = {key: (language, first, second) for language, key, first, second in labels}
    found: dict[str, list[tuple[str | None, str, str]]] = defaultdict(list)
    readers = (worldmedqa_rows, lawbench_rows, korean_rows, lexeval_rows, disc_rows)
    for read, folder in zip(readers, folders, strict=True):
        for options, reply in read(Path(folder)):
            language, first, second = wanted.pop(digest(options, reply), ("", "", ""))
            if language:
                answer = parse_choice(reply, options)
                value = answer.value if isinstance(answer, ParsedAnswer) else None
                found[language].append((value, first, second))
    if wanted:
        sys.exit(f"{len(wanted)} labelled replies are not in these folders: other commits?")
    for language, rows in sorted(found.items()):
        print_language(language, rows)
    print_language("All languages", [row for rows in found.values() for row in rows if row[2]])


if __name__ == "__main__":
    main(sys.argv[1:])

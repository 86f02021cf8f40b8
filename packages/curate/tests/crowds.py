"""The figures of docs/curate/evidence.md, "Annotators": labels of real crowds whose truth is known,
and simulated people.

    python packages/curate/tests/crowds.py CHECKOUTS

`CHECKOUTS` has clones named as their repositories are (cubam, crowd_truth_infer,
Get-Another-Label); other bytes are refused.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from snellen.stats.agreement import estimate_kappa
from snellen.stats.dawid_skene import Votes, vote_posterior
from snellen.stats.intervals import wilson
from snellen_curate.review.annotators import POOR_GOLD, POOR_KAPPA

SETS = {
    "Bluebirds": (
        "cubam/demo/bluebirds",
        "labels.yaml",
        "gt.yaml",
        "2b7d6fb52252e4c80a14dc15c7ce6c27b1d534db053ea4b208ec283548aa47e5",
    ),
    "Dogs": (
        "crowd_truth_infer/datasets/s4_Dog data",
        "answer.csv",
        "truth.csv",
        "8607b59800589207606e368f93ca7d398194f7d1bf707a8c848c38a9cbd927ab",
    ),
    "Faces": (
        "crowd_truth_infer/datasets/s4_Face Sentiment Identification",
        "answer.csv",
        "truth.csv",
        "610d2a3e15253b80a6968a69e72ff7e55fd899470b84a52f70e58cc05cb497c6",
    ),
    "Products": (
        "crowd_truth_infer/datasets/d_jn-product",
        "answer.csv",
        "truth.csv",
        "139221c340abc8e6af0b84dae8984db5311bd500bfa3cb4165c9c7ffc8dab466",
    ),
    "Adult content": (
        "Get-Another-Label/data/AdultContent2",
        "labels.txt",
        "gold.txt",
        "cd500581b8c76fd18c0058effcb1e09470b626c9220ade15ede48823e85c0429",
    ),
}
"""Data set to its folder, its files of labels and of truths, and the SHA-256 of both, one after the
other."""
PEOPLE = {"95": 0.95, "90": 0.9, "85": 0.85, "75": 0.75, "random": None, "91 % keep": None}


def read(labels: Path, truth: Path) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Votes as (item, annotator, value), the last of each pair, and the known values."""
    if labels.suffix == ".yaml":
        votes = json.loads(_as_json(labels.read_text()))
        rows = [(item, by, str(each)) for by, said in votes.items() for item, each in said.items()]
        return rows, {k: str(v) for k, v in json.loads(_as_json(truth.read_text())).items()}
    if labels.suffix == ".csv":
        answers, truths = (list(csv.reader(path.read_text().splitlines())) for path in (labels, truth))
        last = {(row[0], row[1]): row[2] for row in answers[1:]}
        return [(*pair, value) for pair, value in last.items()], {row[0]: row[1] for row in truths[1:]}
    lines = [line.split("\t") for line in labels.read_text().splitlines() if line.strip()]
    last = {(item, by): value.strip() for by, item, value in lines}
    known = (line.split("\t") for line in truth.read_text().splitlines() if line.strip())
    return [(*pair, value) for pair, value in last.items()], {row[0]: row[1].strip() for row in known}


def _as_json(text: str) -> str:
    """The two YAML files are nested braces of numbers and truth values, the outermost left out."""
    text = re.sub(r"^(\d+): ", r"\1: ", text.strip(), flags=re.MULTILINE)
    text = re.sub(r"\n(?=\d+: \{)", ", ", text)
    text = text if text.startswith("{") else "{" + text + "}"
    return re.sub(r"(\d+):", r'"\1":', text)


def right_share(weights: np.ndarray, truth: dict[int, int]) -> float:
    """How often the largest weight is the truth's; a tie counts in part."""
    best = weights == weights.max(1, keepdims=True)
    return float(np.mean([best[item, value] / best[item].sum() for item, value in truth.items()]))


def measure(rows: list[tuple[str, str, str]], known: dict[str, str]) -> list[str]:
    """The cells of a data set's row."""
    names = [list(dict.fromkeys(row[at] for row in rows)) for at in range(3)]
    numbers = [{name: at for at, name in enumerate(each)} for each in names]
    votes = Votes(*(np.array([numbers[at][row[at]] for row in rows]) for at in range(3)))
    truth = {numbers[0][k]: numbers[2][v] for k, v in known.items() if k in numbers[0]}
    items, people, values = map(len, names)
    counted = np.zeros((items, values))
    np.add.at(counted, (votes.items, votes.values), 1)
    found = vote_posterior(votes, np.full(items, values)).items
    shares = (f"{100 * right_share(each, truth):.1f}" for each in (counted, found))
    return [f"{each:,}" for each in (items, len(truth), people, values, len(rows))] + [*shares]


def simulate(seed: int, items: int, people: list[str], gold: int) -> tuple[list, float, float]:
    """Whom kappa and gold name, and how often the vote and the probability are right."""
    chance = np.random.default_rng(seed)
    truth = chance.choice(3, items, p=(0.6, 0.1, 0.3))
    rows = []
    for item in range(items):
        shown = range(len(people)) if item < gold else chance.permutation(len(people))[:3]
        for by in shown:
            share = PEOPLE[people[by]]
            value = chance.integers(3)
            if people[by].endswith("keep"):
                value = 0 if chance.random() < 0.91 else chance.integers(1, 3)
            elif share is not None:
                right = chance.random() < share
                value = truth[item] if right else (truth[item] + chance.integers(1, 3)) % 3
            rows.append((item, by, value))
    votes = Votes(*np.array(rows).T)
    found = vote_posterior(votes, np.full(items, 3), {at: int(truth[at]) for at in range(gold)})
    named = []
    for by, name in enumerate(people):
        own = votes.annotators == by
        said, which = votes.values[own], votes.items[own]
        kappa = estimate_kappa(found.without[own].argmax(1).tolist(), said.tolist()).interval
        right = int((said == truth[which])[which < gold].sum())
        poor = gold and wilson(right, gold).high < POOR_GOLD
        named.append((name, kappa is not None and kappa.high < POOR_KAPPA, bool(poor)))
    counted = np.zeros((items, 3))
    np.add.at(counted, (votes.items, votes.values), 1)
    real = {at: int(truth[at]) for at in range(gold, items)}
    return named, right_share(counted, real), right_share(found.items, real)


def main(folder: Path) -> None:
    for name, (home, labels, truth, digest) in SETS.items():
        files = [folder / home / labels, folder / home / truth]
        found = hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()
        if found != digest:
            raise SystemExit(f"{files[0]} and {files[1].name} are not those measured: {found}")
        print("|", " | ".join([name, *measure(*read(*files))]), "|")
    for items, people, gold in ((100, list(PEOPLE), 20), (300, list(PEOPLE), 20), (300, ["random"] * 6, 0)):
        named: dict[str, list] = defaultdict(list)
        drawn = [simulate(seed, items, people, gold) for seed in range(30)]
        for each, _, _ in drawn:
            for name, *flags in each:
                named[name].append(flags)
        shares = {name: np.mean(flags, axis=0).round(2).tolist() for name, flags in named.items()}
        vote, posterior = (100 * np.mean([each[at] for each in drawn]) for at in (1, 2))
        print(f"{items} items, {gold} gold: {shares}; {vote:.1f} -> {posterior:.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The data set without its duplicates: a decision about each item, and the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from snellen.core.atomic_write import save
from snellen.data_sets.decisions import Action, Decision, Evidence, count_actions
from snellen.data_sets.step import open_step
from snellen_curate.duplicates.find import DuplicateSearchResult
from snellen_curate.duplicates.report import (
    CONTRADICTION,
    DUPLICATE,
    POSSIBLE,
    DuplicateReport,
    ImageMatch,
    ItemPair,
    OverlapReport,
    describe_image_match,
    describe_overlap,
    report_data,
)

STEP = "duplicates"
REPORT_FILE = "duplicates.json"

Group = Literal["contradictions", "duplicates", "against", "broken"]
GROUPS: tuple[Group, ...] = ("contradictions", "duplicates", "against", "broken")
"""What `drop` names. Of an item's groups the first that is dropped decides, else the first."""
_MAX_EVIDENCE = 5


def write_folder(found: DuplicateSearchResult, out: Path | str, drop: Sequence[Group] = ()) -> dict[str, Any]:
    """Write the data set folder `out`: items in the groups `drop` are dropped, others are flagged.

    Also writes the report there. Returns the counts. Raises
    UsageError if the folder holds something else, StorageError.
    """
    report, table = found.report, found.read.table
    # As JSON has it: lists, where the report has tuples.
    settings = {"drop": sorted(drop), **msgspec.json.decode(msgspec.json.encode(report.settings))}
    decided = decisions(report, drop)
    with open_step(out, STEP, settings, table) as step:
        folder = step.folder
        for item in table:
            if item.id not in step.decisions:
                step.decide(decided.get(item.id) or Decision(item.id, "keep", STEP, "no duplicate"))
        document = msgspec.json.encode(report_data(report))
        save(folder / REPORT_FILE, msgspec.json.format(document, indent=1) + b"\n")
        dropped = {name for name, one in step.decisions.items() if one.action == "drop"}
        written = step.write_items(item for item in table if item.id not in dropped)
        counts: dict[str, Any] = {
            "items": written,
            **count_actions(step.decisions),
            "contradictions": len(report.contradictions),
            "clusters": len(report.clusters),
            "possible": len(report.possible),
            "excluded": len(report.exclusions),
            "broken": len(report.broken),
        }
        step.finish(counts)
    return counts


def decisions(report: DuplicateReport, drop: Sequence[Group]) -> dict[str, Decision]:
    """The decision about each item that is in a group, by id."""
    decided: dict[str, Decision] = {}

    def decide(name: str, group: Group | None, rule: str, reason: str, evidence: list[Evidence]) -> None:
        action: Action = "drop" if group in drop else "flag"
        decision = Decision(name, action, STEP, rule, reason, tuple(evidence[:_MAX_EVIDENCE]))
        before = decided.get(name)
        if before is None or (before.action == "flag" and action == "drop"):
            decided[name] = decision

    for name, pairs in _contradictions(report).items():
        others = [f"{other} ({key})" for other, key, _ in pairs]
        reason = f"the same question about the same picture has another key in {', '.join(others)}"
        decide(name, "contradictions", CONTRADICTION, reason, [evidence for *_, evidence in pairs])
    for name, kept, evidence in _repeats(report):
        decide(name, "duplicates", DUPLICATE, f"it repeats {kept}", evidence)
    for pair in report.possible:
        evidence = [_pair_evidence(pair, pair.left)]
        decide(pair.right, None, POSSIBLE, f"it may repeat {pair.left}", evidence)
    for one in report.against:
        for name, matched in _outside(one).items():
            decide(name, "against", f"in {one.name}", f"it is in {one.name}", matched)
    for medium in report.broken:
        for name in medium.items:
            decide(name, "broken", "broken picture" if medium.image else "unusable", medium.reason, [])
    return decided


def _contradictions(report: DuplicateReport) -> dict[str, list[tuple[str, str, Evidence]]]:
    """By item the others with another key: their id, key and how they match."""
    others: dict[str, list[tuple[str, str, Evidence]]] = defaultdict(list)
    for pair in report.contradictions:
        others[pair.left].append((pair.right, pair.right_key, _pair_evidence(pair, pair.right)))
        others[pair.right].append((pair.left, pair.left_key, _pair_evidence(pair, pair.left)))
    return others


def _repeats(report: DuplicateReport) -> Iterable[tuple[str, str, list[Evidence]]]:
    """Each item that is not kept, the item that is kept for it, and why they are duplicates."""
    evidence: dict[str, list[Evidence]] = defaultdict(list)
    for pair in report.duplicates:
        for name, other in ((pair.left, pair.right), (pair.right, pair.left)):
            evidence[name].append(_pair_evidence(pair, other))
    for cluster in report.clusters:
        for name in cluster.items:
            if name != cluster.kept:
                yield name, cluster.kept, evidence[name]


def _outside(report: OverlapReport) -> dict[str, list[Evidence]]:
    evidence: dict[str, list[Evidence]] = defaultdict(list)
    for match in report.matches:
        is_other = match.relation in (None, "possible duplicate")
        if is_other and report.kind == "benchmark":
            continue  # The same image with another question is another item.
        facts = describe_overlap(match)
        evidence[match.item].append(_evidence(match.other, facts, match.image, match.similarity))
    return evidence


def _pair_evidence(pair: ItemPair, other: str) -> Evidence:
    facts = (pair.rule, *(describe_image_match(pair.image) if pair.image else ()))
    return _evidence(other, facts, pair.image, pair.similarity)


def _evidence(other: str, facts: Sequence[str], image: ImageMatch | None, similarity: float | None) -> Evidence:
    score = similarity if image is None or image.phash is None else float(image.phash)
    return Evidence("measured", reply=other, verdict="; ".join(facts), score=score)

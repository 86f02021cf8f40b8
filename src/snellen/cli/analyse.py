"""`snellen analyse`: what stands behind the numbers of finished runs."""

from __future__ import annotations

import json
from argparse import Namespace

from snellen.analysis.choices import Choices, Refusals, censored, choices
from snellen.cli.main import COMPLETE
from snellen.store.runs import find_runs


def main(arguments: Namespace) -> int:
    found = []
    for path in arguments.runs:
        for run in find_runs(path):
            reason = censored(run.info)
            made = None if reason else choices(run.records(), arguments.group)
            found.append((run.name, reason, made))
    if arguments.json:
        print(json.dumps([_as_json(*one) for one in found], ensure_ascii=False))
    else:
        for name, reason, made in found:
            _show(name, reason, made)
    return COMPLETE


def _as_json(name: str, reason: str | None, made: Choices | None) -> dict[str, object]:
    if made is None:
        return {"run": name, "choices": None, "reason": reason}
    plain = made._asdict() | {
        "refused": made.refused._asdict(),
        "refusals": {label: one._asdict() for label, one in made.refusals.items()},
    }
    return {"run": name, "choices": plain}


def _show(name: str, reason: str | None, made: Choices | None) -> None:
    print(name)
    if made is None:
        print(f"  choice distribution, refusals and upper bound: {reason}")
        return
    if not made.passes:
        print("  no multiple-choice question was answered")
        return
    told, golds = sum(made.predicted.values()), sum(made.gold.values())
    print(f"  letters over {made.passes} passes, chosen against gold:")
    for label in sorted({*made.predicted, *made.gold}):
        chosen = _share(made.predicted.get(label, 0), told)
        print(f"    {label}  {chosen}  {_share(made.gold.get(label, 0), golds)}")
    print(f"  refused: {_refused(made.refused)}")
    for label, one in made.refusals.items():
        if one.refused:
            print(f"    {label or 'no category'}: {_refused(one)}")
    if made.accuracy is not None and made.upper_bound is not None:
        print(f"  score {made.accuracy:.1f}, upper bound without refusals {made.upper_bound:.1f}")


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:5.1f} %" if total else "    -  "


def _refused(one: Refusals) -> str:
    return f"{one.refused} of {one.passes} passes ({100 * one.refused / max(1, one.passes):.1f} %)"

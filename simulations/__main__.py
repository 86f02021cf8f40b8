"""`python -m simulations`: carry out the studies; exit code 1 where a value is not as promised."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simulations.page import DOCUMENT, page
from simulations.results import RESULTS, read_results, with_outcomes, write_results
from simulations.running import Outcome, simulate_all
from simulations.study import all_studies, find_study
from snellen.core.errors import UsageError


def main(argv: Sequence[str]) -> int:
    """0 where every value is as promised, 1 where one is not, 2 for a mistake in the command."""
    parser = argparse.ArgumentParser(prog="python -m simulations", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats, wider bounds")
    parser.add_argument("--only", nargs="+", default=(), metavar="KEY", help="these studies alone")
    parser.add_argument("--missing", action="store_true", help="only cases of which the results tell nothing")
    parser.add_argument("--json", type=Path, help=f"where results go; {RESULTS.name} for the full form")
    parser.add_argument("--page", action="store_true", help=f"write docs/{DOCUMENT.name} from the results, no more")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    arguments = parser.parse_args(argv)
    if arguments.page:
        DOCUMENT.write_text(page(), encoding="utf-8")
        return 0
    try:
        studies = [find_study(key) for key in arguments.only] or list(all_studies().values())
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    file = arguments.json or (None if arguments.quick else RESULTS)
    started, outcomes, done = time.perf_counter(), [], set()
    if arguments.missing:
        known = read_results(file or RESULTS).cases
        done = {(key, label) for key, cases in known.items() for label in cases}
    for outcome in simulate_all(studies, quick=arguments.quick, jobs=arguments.jobs, done=done):
        print(line(outcome), flush=True)
        outcomes.append(outcome)
        if file:
            # Each time: what was simulated is kept when a later study fails.
            write_results(file, with_outcomes(read_results(file), outcomes, all_studies().values()))
    spent = Counter[str]()
    for outcome in outcomes:
        spent[outcome.study] += outcome.seconds
    for key, seconds in spent.most_common():
        print(f"{seconds:8.1f} s  {key}")
    broken = [outcome for outcome in outcomes if not outcome.kept]
    print(f"{len(outcomes)} cases, {len(broken)} outside, {time.perf_counter() - started:.0f} s")
    return 1 if broken else 0


def line(outcome: Outcome) -> str:
    """One case: study, label, value with its standard error, the range it must lie in."""
    mark = "    " if outcome.kept else "OUT "
    return (
        f"{mark}{outcome.study:30} {outcome.case:48} {outcome.value:8.4f} ±{outcome.error:.4f}  "
        f"in {outcome.low:.3f} to {outcome.high:.3f}  {outcome.seconds:6.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

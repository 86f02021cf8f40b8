"""Unit tests of a page, as olmOCR-Bench states them (Poznanski et al. 2025, https://arxiv.org/abs/2502.18443,
Sec. 4; olmocr/bench/tests.py): a sentence is there, or is not; one stands before another; a cell of a table
has a neighbour; a formula is there; the page is neither empty nor a loop.

A test is an object with its `type`; texts are compared after `plain_line`, and `max_diffs` edits are
allowed. The authors draw formulas with KaTeX in a browser and compare what is drawn. Here two formulas are
the same if their LaTeX is (`texts.counted_formula`), or if one of the page holds that of the test, which
passes there, too: a formula that is written in another way fails here.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from snellen.core import lazy_re as re
from snellen.scoring.pages.table_grid import Grid, Place, grids_of_html, grids_of_pipes
from snellen.scoring.pages.texts import counted_formula

Test = Mapping[str, Any]
BASELINE = "baseline"
WHOLE_TEXT = "whole text"
"""Key of a test by which a page that is shorter than the text must be like all of it."""
_LEAST_CELL = 0.5
_LOOP = 30
"""Repeats of the last 1 to 5 characters from which a page is a loop."""
_LONG_FORMULA = 5
"""Signs of a formula that another one does not hold by chance."""
_BREAK, _BOLD_TAG = re.compile(r"<br/?>"), re.compile(r"</?[bi]>")
_STARS, _LINES = re.compile(r"\*\*(.*?)\*\*"), re.compile(r"__(.*?)__")
_PAIRS, _EMPHASIS = re.compile(r"(\*\*|__)(.*?)\1"), re.compile(r"(\*|_)(.*?)\1")
_SPACE = re.compile(r"\s+")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚", "'"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("–—‑‒−", "-"),
        "＿": "_",
        "\u00b5": "\u03bc",
    }
)
_OTHER_SCRIPTS = re.compile(
    r"[\u4e00-\u9FFF\u3040-\u309F\u30A0-\u30FF\U0001F600-\U0001F64F\U0001F300-\U0001F5FF"
    r"\U0001F680-\U0001F6FF\U0001F1E0-\U0001F1FF]"
)
_PICTURE = re.compile(r"!\[.*?\]\(.*?\)")
_FORMULAS = (
    (re.compile(r"\\\((.+?)\\\)", re.DOTALL), "\\)"),
    (re.compile(r"\\\[(.+?)\\\]", re.DOTALL), "\\]"),
    (re.compile(r"\$\$(.+?)\$\$", re.DOTALL), "$$"),
    (re.compile(r"\$(.+?)\$", re.DOTALL), "$"),
)
"""Formulas, and what ends them."""
_WAYS = ("up", "down", "left", "right")
_HEADINGS = {"top_heading": "up", "left_heading": "left"}


def read_tests(gold: str) -> list[Test]:
    """The tests of a page from their JSON."""
    tests: list[Test] = json.loads(gold)
    return tests


def states_baseline(tests: Sequence[Test]) -> bool:
    """Whether tests say themselves what is asked of the page as a whole."""
    return any(test.get("type") == BASELINE for test in tests)


def passes_test(page: str, test: Test) -> bool:
    """Whether a page passes a test. One of a type that is not known fails."""
    check = _CHECKS.get(str(test.get("type")))
    return check is not None and check(page, test)


def plain_line(text: str) -> str:
    """A text in one line without signs of emphasis, with plain quotes and dashes, in Unicode's form NFC."""
    text = _LINES.sub(r"\1", _STARS.sub(r"\1", _BREAK.sub(" ", text)))
    text = _EMPHASIS.sub(r"\2", _PAIRS.sub(r"\2", _BOLD_TAG.sub("", text)))
    return unicodedata.normalize("NFC", _SPACE.sub(" ", text)).translate(_PLAIN)


def _is_present(page: str, test: Test) -> bool:
    text, page = plain_line(test["text"]), plain_line(page)
    if not test.get("case_sensitive", True):
        text, page = text.lower(), page.lower()
    first, last = test.get("first_n") or 0, test.get("last_n") or 0
    if first or last:
        page = (page[:first] if first else "") + (page[-last:] if last else "")
    # By the authors' measure a page of one letter holds each sentence that has this letter.
    is_short = test.get(WHOLE_TEXT) and len(page) < len(text)
    measure = fuzz.ratio if is_short else fuzz.partial_ratio
    return measure(text, page) / 100.0 >= 1.0 - _edits(test) / (len(text) or 1)


def _is_absent(page: str, test: Test) -> bool:
    return not _is_present(page, test)


def _is_in_order(page: str, test: Test) -> bool:
    page = plain_line(page)
    before = min(_find_near(plain_line(test["before"]), page, _edits(test)), default=None)
    after = max(_find_near(plain_line(test["after"]), page, _edits(test)), default=None)
    return before is not None and after is not None and before < after


def _edits(test: Test) -> int:
    return int(test.get("max_diffs") or 0)


def _find_near(text: str, page: str, edits: int) -> Iterator[int]:
    """Where a text begins in a page, but for so many edits. One of the pieces into which it is cut, one
    more than edits, stands there unchanged."""
    if not text:
        return
    size = max(1, len(text) // (edits + 1))
    seen: set[int] = set()
    for offset in range(0, size * (edits + 1), size):
        piece = text[offset : offset + size]
        place = page.find(piece) if piece else -1
        while place >= 0:
            start = place - offset
            if start not in seen:
                seen.add(start)
                nearest = _nearest_start(text, page, start, edits)
                if nearest is not None:
                    yield nearest
            place = page.find(piece, place + 1)


def _nearest_start(text: str, page: str, start: int, edits: int) -> int | None:
    """The start near a place from which the page is nearest to a text; None beyond the edits."""
    best = (edits + 1, 0, 0)
    for first in range(max(0, start - edits), max(0, start + edits) + 1):
        for length in range(max(1, len(text) - edits), len(text) + edits + 1):
            part = page[first : first + length]
            distance = Levenshtein.distance(text, part, score_cutoff=edits)
            best = min(best, (distance, -len(part), first))
    return best[2] if best[0] <= edits else None


def _is_in_table(page: str, test: Test) -> bool:
    """Whether some cell has the text and, each somewhere next to it, all neighbours that the test names."""
    grids = [] if test.get("ignore_markdown_tables") else grids_of_pipes(page)
    text = plain_line(test["cell"])
    least = _least(text, test)
    for grid in [*grids, *grids_of_html(page)]:
        for place, cell in grid.cells.items():
            if fuzz.ratio(text, plain_line(cell.text)) / 100.0 >= least and _has_neighbours(grid, place, test):
                return True
    return False


def _least(text: str, test: Test) -> float:
    return max(_LEAST_CELL, 1.0 - _edits(test) / (len(text) or 1))


def _has_neighbours(grid: Grid, place: Place, test: Test) -> bool:
    wanted = [(plain_line(test[way]), grid.neighbours, way) for way in _WAYS if test.get(way)]
    wanted += [(plain_line(test[name]), grid.headings, way) for name, way in _HEADINGS.items() if test.get(name)]

    def is_there(text: str, places: Iterable[Place]) -> bool:
        found = (fuzz.ratio(text, plain_line(grid.cells[one].text)) / 100.0 for one in places)
        return any(ratio >= _least(text, test) for ratio in found)

    return all(is_there(text, find(place, way)) for text, find, way in wanted if text)


def _is_sound(page: str, test: Test) -> bool:
    """Whether a page has text, ends in no loop, and has no signs of East Asian scripts or emoji; of one that
    is expected to be blank, that it is."""
    most = test.get("max_length")
    if most is not None:
        counted = _PICTURE.sub("", page) if test.get("max_length_skips_image_alt_tags") else page
        return sum(map(str.isalnum, counted)) <= int(most)
    if not any(map(str.isalnum, page)):
        return False
    if max(_repeats(_SPACE.sub(" ", page))) > test.get("max_repeats", _LOOP):
        return False
    return not (test.get("check_disallowed_characters", True) and _OTHER_SCRIPTS.search(page))


def _repeats(text: str) -> list[int]:
    """How often the last 1, 2, ... 5 characters stand at the end in a row."""
    counts = []
    for size in range(1, 6):
        last, place, count = text[-size:], len(text) - size, 0
        while place >= 0 and text[place : place + size] == last:
            count, place = count + 1, place - size
        counts.append(count)
    return counts


def _has_formula(page: str, test: Test) -> bool:
    formulas: list[str] = []
    for pattern, ending in _FORMULAS[: 2 if test.get("ignore_dollar_delimited") else 4]:
        formulas += pattern.findall(page, 0, re.end_of_last(page, ending))
        page = re.sub_closed(pattern, "", page, ending)
    wanted = counted_formula(test["math"])
    if any(formula.strip() == test["math"] for formula in formulas):
        return True
    counted = map(counted_formula, formulas)
    return any(formula == wanted or (len(wanted) >= _LONG_FORMULA and wanted in formula) for formula in counted)


_CHECKS: Mapping[str, Callable[[str, Test], bool]] = {
    "present": _is_present,
    "absent": _is_absent,
    "order": _is_in_order,
    "table": _is_in_table,
    "math": _has_formula,
    BASELINE: _is_sound,
}

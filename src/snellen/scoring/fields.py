"""Compare the record that a reply gives as JSON with a gold record, field by field.

A field is a value that is no object and no list, at its path ("items[].price"). Null, empty texts,
empty lists and empty objects are no fields. Objects are compared name by name. The items of two lists
are paired so that most fields are right, whatever their order.

Two values are equal as numbers, as dates or as texts:

* Numbers are compared by value, without currency signs, percent signs and thousands separators; two
  units that differ make two values. A text with a leading zero ("0012") is no number.
* Dates are compared by day where their form leaves no doubt: year first, a month by its name, or a day
  above 12. "03/04/2020" is a text, since its day and month cannot be told apart.
* Texts are compared without case, repeated white space and closing punctuation, in Unicode's form NFKC.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple

from snellen.core import lazy_re as re
from snellen.core.answer_text import each_field, join_path
from snellen.core.literals import load_json
from snellen.scoring.assignment import least_sum_pairs

FieldOutcome = Literal["right", "wrong", "missing", "invented"]
"""`missing`: a field of the gold record that the reply lacks; `invented`: the reverse."""


class FieldResult(NamedTuple):
    """One field of either record."""

    path: str
    outcome: FieldOutcome
    gold: Any = None
    reply: Any = None


class FieldCounts(NamedTuple):
    """Numbers of fields by their outcome."""

    right: int
    wrong: int
    missing: int
    invented: int

    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0..1; 1 if neither record has a field."""
        both = 2 * self.right + 2 * self.wrong + self.missing + self.invented
        return 2 * self.right / both if both else 1.0


def compare_records(reply: Any, gold: Any, path: str = "") -> list[FieldResult]:
    """The result of every field of two JSON values."""
    reply, gold = _without_empty(reply), _without_empty(gold)
    if isinstance(gold, list) != isinstance(reply, list) and gold is not None and reply is not None:
        # A lone item may stand without its list.
        gold, reply = (one if isinstance(one, list) else [one] for one in (gold, reply))
    if isinstance(gold, dict) and isinstance(reply, dict):
        names = [*gold, *(name for name in reply if name not in gold)]
        return [
            result
            for name in names
            for result in compare_records(reply.get(name), gold.get(name), join_path(path, name))
        ]
    if isinstance(gold, list) and isinstance(reply, list):
        return _compare_lists(reply, gold, f"{path}[]")
    if _is_value(gold) and _is_value(reply):
        return [FieldResult(path, "right" if is_same_value(reply, gold) else "wrong", gold, reply)]
    lacking = [FieldResult(where, "missing", gold=value) for where, value in each_field(gold, path)]
    return lacking + [FieldResult(where, "invented", reply=value) for where, value in each_field(reply, path)]


def count_fields(results: Sequence[FieldResult]) -> FieldCounts:
    """Count the results by outcome."""
    counts = Counter(result.outcome for result in results)
    return FieldCounts(counts["right"], counts["wrong"], counts["missing"], counts["invented"])


def nearest_results(reply: str | None, golds: Sequence[str]) -> list[FieldResult]:
    """The results of a record as JSON against the gold record that it is nearest to. Of no reply, and of one
    that is no JSON (another tool's rule kept its text), every gold field is missing."""
    try:
        said = load_json(reply) if reply else None
    except ValueError:
        said = None
    candidates = [compare_records(said, json.loads(gold)) for gold in golds]
    return max(candidates, key=lambda results: count_fields(results).f1(), default=[])


def record_f1(reply: str, golds: Sequence[str]) -> float:
    """F1 of the fields of a record as JSON, against the gold record that it is nearest to."""
    return max(_counts(reply, gold).f1() for gold in golds)


def is_exact_record(reply: str, golds: Sequence[str]) -> float:
    """1 if every field is right and none is invented, else 0."""
    return float(record_f1(reply, golds) == 1.0)


def invented_share(reply: str, golds: Sequence[str]) -> float:
    """The share of the reply's fields that the nearest gold record does not have; 0 of no fields."""
    counts = max((_counts(reply, gold) for gold in golds), key=FieldCounts.f1)
    stated = counts.right + counts.wrong + counts.invented
    return counts.invented / stated if stated else 0.0


def describe_fields(reply: str, golds: Sequence[str]) -> str:
    """The fields of a record that are not those of the nearest gold record, in a sentence; either text as
    it is where it is no JSON."""
    try:
        load_json(reply)
    except ValueError:
        return reply
    results = nearest_results(reply, golds)
    counts = count_fields(results)
    gold_fields = counts.right + counts.wrong + counts.missing
    said = [f"{counts.right} of {gold_fields} fields right"]
    for path, outcome, gold, given in results:
        if outcome == "wrong":
            said.append(f"{path}: {given}, not {gold}")
        elif outcome != "right":
            said.append(f"{path}: {given if outcome == 'invented' else gold} ({outcome})")
    return "; ".join(said)


def _counts(reply: str, gold: str) -> FieldCounts:
    return count_fields(compare_records(json.loads(reply), json.loads(gold)))


def is_same_value(one: Any, other: Any) -> bool:
    """Whether two values that are neither objects nor lists say the same."""
    if isinstance(one, bool) or isinstance(other, bool):
        return _as_text(one) == _as_text(other)
    numbers = _as_number(one), _as_number(other)
    if numbers[0] and numbers[1]:
        (first, unit), (second, other_unit) = numbers[0], numbers[1]
        return first == second and (not unit or not other_unit or unit == other_unit)
    dates = _as_date(one), _as_date(other)
    if dates[0] and dates[1]:
        return dates[0] == dates[1]
    return _as_text(one) == _as_text(other)


def value_kind(value: Any) -> str:
    """What a value is compared as: `number`, `date` or `text`."""
    if isinstance(value, bool):
        return "text"
    if _as_number(value):
        return "number"
    return "date" if _as_date(value) else "text"


def _compare_lists(reply: list[Any], gold: list[Any], path: str) -> list[FieldResult]:
    """The results of the items of two lists, paired so that most fields are right."""
    if len(gold) == len(reply) == 1:
        return compare_records(reply[0], gold[0], path)
    results = [[compare_records(item, target, path) for target in gold] for item in reply]
    pairs = least_sum_pairs([[-_gain(pair) for pair in row] for row in results])
    found = [result for row, column in pairs for result in results[row][column]]
    rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
    for index, target in enumerate(gold):
        if index not in columns:
            found += compare_records(None, target, path)
    for index, item in enumerate(reply):
        if index not in rows:
            found += compare_records(item, None, path)
    return found


def _gain(results: Sequence[FieldResult]) -> float:
    """What pairing two items is worth: right fields, then as few others as possible."""
    right = sum(result.outcome == "right" for result in results)
    return right + 0.5 / (1 + len(results) - right)


def _is_value(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _without_empty(value: Any) -> Any:
    """The value without empty fields; None if nothing is left."""
    if isinstance(value, Mapping):
        kept = {str(name): inner for name, each in value.items() if (inner := _without_empty(each)) is not None}
        return kept or None
    if isinstance(value, list | tuple):
        return [inner for each in value if (inner := _without_empty(each)) is not None] or None
    if isinstance(value, str) and not value.strip():
        return None
    return value


_SPACE = re.compile(r"\s+")
# Not any three letters: "INV 123" is no amount.
_CURRENCY = (
    r"[$€£¥₹₩%]|RM|Rp|Rs|kr|AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP"
    r"|PLN|RMB|RUB|SAR|SEK|SGD|THB|TRY|TWD|USD|VND|ZAR"
)
_NUMBER = re.compile(
    rf"(?P<before>{_CURRENCY})?\.?\s*(?P<sign>[-+−]?)\s*"
    rf"(?P<digits>\d+(?:[.,'\u00a0\u202f ]\d+)*)\s*(?P<after>{_CURRENCY})?"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:([,'\u00a0\u202f ])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_SEPARATORS = re.compile(r"[,'\u00a0\u202f ]")
_DECIMAL_COMMA = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}")


def _as_text(value: Any) -> str:
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    return _SPACE.sub(" ", text).strip().rstrip(".,:; ")


def _as_number(value: Any) -> tuple[Decimal, str] | None:
    """A number and its unit; None for other texts."""
    if isinstance(value, int | float):
        return Decimal(str(value)), ""
    match = _NUMBER.fullmatch(str(value).strip())
    if match is None:
        return None
    digits = match["digits"]
    if digits[0] == "0" and digits[1:2].isdigit():
        return None
    if _THOUSANDS.fullmatch(digits):
        digits = _SEPARATORS.sub("", digits)
    elif _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    unit = (match["before"] or "") + (match["after"] or "")
    return -number if match["sign"] in ("-", "−") else number, unit.casefold().rstrip(".")


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR_FIRST = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})日?")
_YEAR_LAST = re.compile(r"(\d{1,2})[-/. ]+(\d{1,2})[-/. ]+(\d{4})")
_DAY_NAME = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[-/. ]*([a-z]{3})[a-z]*\.?[-/., ]*(\d{4})")
_NAME_DAY = re.compile(r"([a-z]{3})[a-z]*\.?[-/. ]*(\d{1,2})(?:st|nd|rd|th)?[-/., ]+(\d{4})")


def _as_date(value: Any) -> date | None:
    """The day that a text names without doubt."""
    text = _SPACE.sub(" ", str(value).strip().lower())
    for pattern, order in ((_YEAR_FIRST, (0, 1, 2)), (_DAY_NAME, (2, 1, 0)), (_NAME_DAY, (2, 0, 1))):
        if match := pattern.fullmatch(text):
            year, month, day = (match.groups()[index] for index in order)
            return _date(int(year), _month(month), int(day))
    if match := _YEAR_LAST.fullmatch(text):
        first, second, year = map(int, match.groups())
        if first == second or second > 12:
            return _date(year, first, second)
        return _date(year, second, first) if first > 12 else None
    return None


def _month(text: str) -> int:
    """1 to 12; 0 for a word that is no month."""
    if text.isdigit():
        return int(text)
    return _MONTHS.index(text) + 1 if text in _MONTHS else 0


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None

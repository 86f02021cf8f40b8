"""Numbers in a text, however they are written, so that source and translation can be compared.

Digits of any script and width, thousands separators of either kind, Chinese numerals (positional
and with 十百千万亿), digits before 万 or "million", decades, and words. A mention has several
readings where the writing is ambiguous ("1.234" in a German text): two mentions agree if they share
a reading.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal, NamedTuple

from snellen.data.toml_files import read_packaged

Form = Literal["digits", "numeral", "word"]


class NumberMention(NamedTuple):
    """A number as it stands in a text."""

    text: str
    readings: frozenset[Decimal]
    form: Form


_TABLE = read_packaged(__package__, "numbers.toml")
_HAN_DIGITS, _HAN_TENS, _HAN_MYRIADS = (
    {character: int(value) for value, characters in table.items() for character in characters}
    for table in _TABLE["han"].values()
)
_HAN_CLASS = "".join({**_HAN_DIGITS, **_HAN_TENS, **_HAN_MYRIADS})
_SCALES = {word: int(scale) for scale, words in _TABLE["scales"].items() for word in words.split()}
_SPACES = " \u00a0\u2009\u202f"
_DIGITS = re.compile(
    r"(?<![A-Za-z\d_])"
    rf"(?P<number>(?:\d+|(?<![^\s(（$€£¥\u3000-\u9fff])\.\d+)(?:[.,'’]\d+)*(?:[{_SPACES}]\d{{3}}(?!\d))*(?:[.,]\d+)?)"
    rf"(?:(?P<decade>['’]?s\b)|[{_SPACES}]?(?P<scale>[万萬亿億兆千百十]+(?![克米瓦卡帕赫焦伏])|(?:{'|'.join(_SCALES)})\b))?",
    re.IGNORECASE,
)
_HAN = re.compile(rf"[{_HAN_CLASS}]+")
_UNITS, _TENS = _TABLE["units"].split(), _TABLE["tens"].split()
_WORD_VALUES: dict[str, set[str]] = {}
for _value, _words in _TABLE["words"].items():
    for _word in _words.split():
        _WORD_VALUES.setdefault(_word, set()).add(_value)
_SPELT = {word: Decimal(value) for value, word in enumerate(_UNITS[:13]) if value > 1}
_SPELT |= {"twice": Decimal(2), "half": Decimal("0.5")}
_TENS_AND_UNITS = re.compile(
    rf"\b({'|'.join(_TENS)})[-\s]({'|'.join(_UNITS[1:10])}|first|second|third|fourth|fifth|sixth"
    r"|seventh|eighth|ninth)\b"
)
_SCALED_WORDS = re.compile(
    rf"\b({'|'.join((*_UNITS[1:], *_TENS))}|a|an|half a)\s"
    r"(hundred|thousand|million|billion|trillion|dozen)\b"
)
_AND_A_HALF = re.compile(rf"\b({'|'.join((*_UNITS[1:], *_TENS))}|an?|\d+)\s(?:\w+\s)?and a half\b", re.ASCII)
_PER_UNIT = re.compile(r"/\s?[a-z]{3,}")
"""As in "4 gallons/minute", which is 4 gallons in 1 minute."""
_WORD = re.compile(r"[a-z]+")
_FOLDED = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"٫": ".", "٬": ",", "\u3000": " "}
_FOLDABLE = re.compile(r"[\uff01-\uff5e\u3000٫٬]|(?![0-9])\d")
_RANGE = re.compile(r"\s?(?:to|or|and|[-–—~至到])\s?")
_AFTERNOON = re.compile(r"\d\s?(?:p\.?m\b|o'clock)", re.IGNORECASE)
_SEASON = re.compile(r"\b(\d\d)\d\d\s?[-–—/~]{1,2}\s?(\d\d)\b")
_ROMAN = re.compile(r"\b(?=[IVXLC]+(?:er?|ème)?\b)(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?=(?:er?|ème)?\b)")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def number_mentions(text: str) -> list[NumberMention]:
    """The numbers of a text that are written in digits or Chinese numerals, in order."""
    return list(_mentions(fold_digits(text).replace("百分", " ")))


def word_values(text: str) -> set[Decimal]:
    """Values that English words, Roman numerals, times and dates of a text may stand for.

    A translation may write them in digits, and need not: they excuse a number of the translation
    and are not required of it.
    """
    folded = fold_digits(text)
    values = {Decimal(value) for word in _WORD.findall(folded.lower()) for value in _WORD_VALUES.get(word, ())}
    for match in _TENS_AND_UNITS.finditer(folded.lower()):
        tens, units = (_WORD_VALUES[word] for word in match.groups())
        values |= {Decimal(one) + Decimal(other) for one in tens for other in units}
    for match in _SCALED_WORDS.finditer(folded.lower()):
        firsts = {"0.5"} if match[1] == "half a" else _WORD_VALUES[match[1]]
        values |= {Decimal(first) * _SCALES[match[2]] for first in firsts}
    for match in _AND_A_HALF.finditer(folded.lower()):
        # "a minute and a half" is 1.5 minutes.
        firsts = _WORD_VALUES.get(match[1], {match[1]})
        values |= {Decimal(first) + Decimal("0.5") for first in firsts}
    if _PER_UNIT.search(folded):
        values.add(Decimal(1))
    # "2008-09" is 2008 to 2009.
    values |= {Decimal("".join(years)) for years in _SEASON.findall(folded)}
    for match in _ROMAN.finditer(folded):
        values.add(Decimal(_roman_value(match[0])))
    for mention in _mentions(folded):
        for value in mention.readings:
            values |= _parts_of_date(value, folded)
    return values


def spelt_numbers(text: str) -> list[tuple[str, Decimal]]:
    """English words from two to twelve, twice and half, with what they mean and nothing else."""
    return [(word, _SPELT[word]) for word in _WORD.findall(text.lower()) if word in _SPELT]


def fold_digits(text: str) -> str:
    """`text` with full-width forms and the digits of all scripts as ASCII."""
    return _FOLDABLE.sub(lambda match: _FOLDED.get(match[0]) or str(unicodedata.decimal(match[0])), text)


def _mentions(text: str) -> Iterator[NumberMention]:
    """The numbers of a text with folded digits, in order. A number of digits with several scales,
    such as 3亿4000万, is mentioned as a whole and by its parts."""
    spans: list[tuple[int, NumberMention]] = []
    end = 0
    for match in _DIGITS.finditer(text):
        readings = _digit_readings(match["number"])
        scale = match["scale"]
        if scale:
            factor = _scale_factor(scale)
            scaled = {value * factor for value in readings}
            # In a language whose word for million is not read here, the digits stand alone.
            readings = scaled if scale[-1] in _HAN_CLASS else readings | scaled
        else:
            readings |= _scaled_range(text, match.end(), readings)
        if match["decade"]:
            # "1990s" are the 90s, "1700s" the 18th century.
            readings |= {value % 100 or value // 100 + 1 for value in readings}
        spans.append((match.start(), NumberMention(match[0].strip(), frozenset(readings), "digits")))
        end = match.end()
        # "3亿4000万" and "2万3千" are one number as well as two.
        follow = _DIGITS.match(text, end) if scale and scale[-1] in _HAN_MYRIADS else None
        if follow:
            rest = _digit_readings(follow["number"])
            factor = _scale_factor(follow["scale"]) if follow["scale"] else 1
            joined = {one + other * factor for one in readings for other in rest}
            mention = NumberMention(text[match.start() : follow.end()], frozenset(joined), "numeral")
            spans.append((match.start(), mention))
    for match in _HAN.finditer(text):
        if match.start() and text[match.start() - 1].isdigit():
            continue
        readings = _han_readings(match[0])
        if readings:
            spans.append((match.start(), NumberMention(match[0], frozenset(readings), "numeral")))
    yield from (mention for _, mention in sorted(spans, key=lambda span: span[0]))


def _scaled_range(text: str, end: int, readings: set[Decimal]) -> set[Decimal]:
    """What the first number of a range such as "30 to 50 thousand" may also mean."""
    word = _RANGE.match(text, end)
    second = _DIGITS.match(text, word.end()) if word else None
    if second is None or not second["scale"]:
        return set()
    factor = _scale_factor(second["scale"])
    return {value * factor for value in readings}


def _digit_readings(number: str) -> set[Decimal]:
    """The values that digits with separators may mean, under either convention."""
    compact = re.sub(rf"['’{_SPACES}]", "", number)
    if compact.startswith("."):
        return {Decimal(compact)} if compact.count(".") == 1 and "," not in compact else set()
    readings = set()
    for thousands, point in ((",", "."), (".", ",")):
        parts = compact.split(point)
        groups = parts[0].split(thousands)
        if len(parts) > 2 or any(len(group) not in (2, 3) for group in groups[1:]):
            continue
        if thousands in "".join(parts[1:]):
            continue
        readings.add(Decimal("".join(groups) + ("." + parts[1] if len(parts) == 2 else "")))
    pieces = re.split(rf"[{_SPACES}]", number)
    if len(pieces) > 1:
        # "80 000" may be two numbers after all: "from pages 100 200".
        readings |= {value for piece in pieces for value in _digit_readings(piece)}
    # A version or a date such as 3.11.2: its parts.
    return readings or {Decimal(part) for part in re.findall(r"\d+", number)}


def _scale_factor(scale: str) -> int:
    word = scale.lower()
    if word in _SCALES:
        return _SCALES[word]
    factor = 1
    for character in scale:
        factor *= _HAN_TENS.get(character) or _HAN_MYRIADS.get(character, 1)
    return factor


def _han_readings(numeral: str) -> set[Decimal]:
    readings = set()
    if all(character in _HAN_DIGITS for character in numeral):
        readings.add(Decimal("".join(str(_HAN_DIGITS[character]) for character in numeral)))
        if len(numeral) == 2:
            # "三四个": three or four.
            readings |= {Decimal(_HAN_DIGITS[character]) for character in numeral}
        return readings
    total = section = digit = 0
    for character in numeral:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_TENS:
            section += (digit or 1) * _HAN_TENS[character]
            digit = 0
        else:
            total = (total + section + digit or 1) * _HAN_MYRIADS[character]
            section = digit = 0
    return {Decimal(total + section + digit)}


def _roman_value(numeral: str) -> int:
    values = [_ROMAN_DIGITS[digit] for digit in numeral]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def afternoon_hours(values: Iterable[Decimal], text: str) -> set[Decimal]:
    """The hours of a text with "pm" as a clock of 24 hours has them."""
    if not _AFTERNOON.search(text):
        return set()
    return {value + 12 for value in values if 0 < value < 12}


def _parts_of_date(value: Decimal, text: str) -> set[Decimal]:
    """Numbers that the translation of a date, a time or a decade with `value` may contain."""
    derived = set()
    if value == value.to_integral_value() and 1000 <= value < 2200:
        # "1990s" is the 90s of the 20th century.
        derived |= {value % 100, value // 100 + 1, value // 100}
    derived |= afternoon_hours({value}, text)
    if value < 10 and re.search(rf"\b{value}0s\b", text):
        derived.add(value * 10)
    return derived

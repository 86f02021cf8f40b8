"""Options that one cell lists, alone (spread over the columns A, B, C, ...) or after a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from snellen.core.literals import parse_json_or_literal
from snellen.data.columns import GOLD_COLUMNS, OPTION_LISTS, is_image_column, option_letters
from snellen.data.documents import cell_text, replace_surrogates

Options = list[tuple[str, str]]
"""Label and text of each option, in order; a label is empty if the data give none."""

_LABELS = ("label", "key", "letter", "id", "option_id", "index")
_TEXTS = ("text", "value", "content", "option", "answer", "description")
_ARRAY = re.compile(r"""\[\s*(?:'[^']*'|"[^"]*")(?:\s+(?:'[^']*'|"[^"]*"))+\s*\]""")
"""An array of texts as numpy prints it: without commas."""
_ARRAY_ITEM = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_LINE = re.compile(r"\(?([A-Z])[.):]\s*(.*\S)\s*")


class SplitQuestion(NamedTuple):
    """A question without its options, and the options by label."""

    question: str
    options: dict[str, str]


def split_inline_options(question: str) -> SplitQuestion:
    """Split off the lines at the end of a question that are labelled A, B, C, ... in this order.

    A question without at least two such lines has no options and stays as it is.
    """
    lines = question.rstrip().splitlines()
    matches = [_LINE.fullmatch(line.strip()) for line in lines]
    for start, match in enumerate(matches):
        if match is None or match[1] != "A":
            continue
        labelled = [match for match in matches[start:] if match is not None]
        labels = "".join(match[1] for match in labelled)
        complete = len(labelled) == len(matches) - start >= 2
        if complete and labels == option_letters(len(labelled)):
            stem = "\n".join(lines[:start]).rstrip()
            return SplitQuestion(stem, {match[1]: match[2] for match in labelled})
    return SplitQuestion(question, {})


def parse_options(value: Any) -> Options | None:
    """The options that a value lists; None for a shape that is not known.

    A list of texts; a list of objects with a text and perhaps a label; an object label -> text; an
    object with a list of labels and one of texts; a text that holds one of these, as JSON or in
    Python's syntax; or lines such as `A. red`. Objects with images are not known.
    """
    if isinstance(value, str):
        return _parse_text(value.strip())
    if isinstance(value, dict):
        columns = _first(value, _LABELS), _first(value, _TEXTS)
        if not all(isinstance(column, list) for column in columns):
            return _distinct(value.items())
        return _distinct(zip(*columns, strict=True)) if len(set(map(len, columns))) == 1 else None
    if not isinstance(value, list):
        return None
    if any(isinstance(item, dict) for item in value):
        if not all(isinstance(item, dict) and _is_described(item) for item in value):
            return None
        return _distinct((_first(item, _LABELS), _first(item, _TEXTS)) for item in value)
    return _distinct(("", item) for item in value)


def labels_of(options: Options) -> list[str] | None:
    """The letters of options: their own labels if these are letters, else A, B, C, ... in order;
    None for more than 26."""
    own = [label.upper() for label, _ in options]
    if own and all(len(label) == 1 and "A" <= label <= "Z" for label in own):
        return own
    letters = option_letters(len(options))
    return None if letters is None else list(letters)


def spread_options(cells: dict[str, str]) -> None:
    """Replace a cell that lists the options by one cell for each letter: A, B, C, ...

    Letters that already have cells keep them. A gold answer that is the label of an option becomes
    its letter. A cell that is not such a list stays.
    """
    for name in OPTION_LISTS:
        cell = cells.get(name)
        options = parse_options(cell) if cell else None
        letters = labels_of(options) if options is not None else None
        if options is None or letters is None:
            continue
        del cells[name]
        for letter, (_, text) in zip(letters, options, strict=True):
            if text:
                cells.setdefault(letter, text)
        letter_of = {label: letter for letter, (label, _) in zip(letters, options, strict=True)}
        for gold in GOLD_COLUMNS:
            if (label := cells.get(gold, "").strip()) in letter_of and label:
                cells[gold] = letter_of[label]


def _parse_text(text: str) -> Options | None:
    if text.startswith(("[", "{")):
        if _ARRAY.fullmatch(text):
            return [("", one or other) for one, other in _ARRAY_ITEM.findall(text)]
        try:
            return parse_options(replace_surrogates(parse_json_or_literal(text)))
        except ValueError:
            return None
    split = split_inline_options("\n".join(filter(str.strip, text.splitlines())))
    return None if split.question else list(split.options.items()) or None


def _first(item: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((item[key] for key in keys if key in item), None)


def _is_described(item: Mapping[str, Any]) -> bool:
    """Whether an object describes an option by its text alone, without an image."""
    return _first(item, _TEXTS) is not None and not any(map(is_image_column, item))


def _distinct(pairs: Iterable[tuple[Any, Any]]) -> Options | None:
    """The options; None if a text is a list or an object, a label is missing or two are equal."""
    options: Options = []
    for label, text in pairs:
        if isinstance(text, list | dict) or isinstance(label, list | dict):
            return None
        options.append((cell_text(label), cell_text(text)))
    labels = {label for label, _ in options}
    return options if labels <= {""} or ("" not in labels and len(labels) == len(options)) else None

"""Records of receipts by Donut's evaluator, in the layout of CORD."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from tests.differential.sets import Case, Oracle, Spec

_DONUT = Oracle("donut", "clovaai/donut", "4cfcf972560e1a0f26eb3e294c8fc88a0d336626", "MIT", "donut")
Record = dict[str, Any]

_NAMES = ("Green Tea", "Nasi Goreng", "Es Jeruk", "Roti Bakar", "Kopi Susu", "Mie Ayam", "Air Mineral", "Sate")
_EXTRAS: tuple[Record, ...] = ({"cnt": "1"}, {"cnt": "2", "unitprice": "9,000"}, {"num": "4001"}, {})
_RECEIPTS = 30


def _receipt(number: int) -> Record:
    """A made-up receipt with one to four items."""
    items = [
        {"nm": _NAMES[(number + place) % len(_NAMES)], **_EXTRAS[(number + place) % 4], "price": _price(number, place)}
        for place in range(1 + number % 4)
    ]
    menu = items[0] if len(items) == 1 and number % 8 == 0 else items
    record: Record = {"menu": menu, "total": {"total_price": _price(number, 9), "cashprice": "100,000"}}
    if number % 3 == 0:
        record["sub_total"] = {"subtotal_price": _price(number, 7), "tax_price": _price(number, 1)}
    if number % 5 == 0:
        record["total"]["menuqty_cnt"] = str(1 + number % 4)
        items[0]["sub"] = [{"nm": "less sugar"}, {"nm": "extra ice", "price": "0"}]
    return record


def _price(number: int, place: int) -> str:
    return f"{(number * 7 + place * 13) % 90 + 5},000"


def _items(record: Record) -> list[Record]:
    menu = record["menu"]
    return menu if isinstance(menu, list) else [menu]


def _edited(record: Record, **changes: Any) -> Record:
    return {**json.loads(json.dumps(record)), **changes}


def _rewritten(write: Callable[[str], str]) -> Callable[[Record], Any]:
    return lambda record: json.loads(write(json.dumps(record)))


def _first_without_price(record: Record) -> Record:
    items = [{name: value for name, value in item.items() if name != "price"} for item in _items(record)]
    return _edited(record, menu=items)


_CHANGES: dict[str, Callable[[Record], Any]] = {
    "exact": lambda record: record,
    "lower case": _rewritten(str.lower),
    "no thousands separators": _rewritten(lambda text: text.replace(",000", "000")),
    "misspelt": _rewritten(lambda text: text.replace("ea", "ae").replace("Nasi", "Nassi")),
    "items reversed": lambda record: _edited(record, menu=_items(record)[::-1]),
    "first item alone": lambda record: _edited(record, menu=_items(record)[:1]),
    "first item, no list": lambda record: _edited(record, menu=_items(record)[0]),
    "an item twice": lambda record: _edited(record, menu=[*_items(record), _items(record)[0]]),
    "no prices": _first_without_price,
    "invented tax": lambda record: _edited(record, sub_total={"tax_price": "1,000", "etc": "none"}),
    "total as text": lambda record: _edited(record, total=record["total"]["total_price"]),
    "numbers": lambda record: _edited(record, total={"total_price": 47300, "cashprice": 5.5, "creditcardprice": None}),
    "other names": lambda record: {"items": record["menu"], "total": record["total"]},
    "flat": lambda record: {"nm": _items(record)[0]["nm"], **record["total"]},
    "empty values": lambda record: _edited(record, void_menu=[], sub_total={"etc": ""}),
    "names in Indonesian": lambda record: _edited(record, total={"jumlah": record["total"]["total_price"]}),
    "true": lambda record: _edited(record, total={"total_price": True}),
    "empty": lambda record: {},
}
_WRAPPERS: dict[str, Callable[[str], str]] = {
    "in a fence": lambda text: f"```json\n{text}\n```",
    "in a plain fence": lambda text: f"```\n{text}\n```",
    "after a sentence": lambda text: f"Here is the receipt:\n\n{text}",
    "before a sentence": lambda text: f"{text}\n\nThese are all fields that I can read.",
    "in bold": lambda text: f"**Answer:** {text}",
}
_WITHOUT: dict[str, Callable[[str], str]] = {
    "cut": lambda text: text[: len(text) * 2 // 3].rstrip("}]"),
    "refused": lambda text: "I'm sorry, but I can't read this receipt.",
}


def _cases() -> Iterator[Case]:
    """Every change alone and in one of the wrappers, which rotate with the receipts."""
    ids = count()
    for number in range(_RECEIPTS):
        gold = _receipt(number)
        cells = {"ground_truth": json.dumps({"gt_parse": gold, "meta": {"version": "2.0"}})}
        replies = {style: json.dumps(change(gold), indent=number % 3 or None) for style, change in _CHANGES.items()}
        wrapper = list(_WRAPPERS)[number % len(_WRAPPERS)]
        wrapped = {f"{style}, {wrapper}": _WRAPPERS[wrapper](reply) for style, reply in replies.items()}
        without = {style: write(replies["misspelt"]) for style, write in _WITHOUT.items()}
        for style, reply in {**replies, **wrapped, **without}.items():
            yield Case(str(next(ids)), cells, style, reply)


SPECS = (
    Spec(
        name="cord.authors",
        benchmark="cord",
        rule="official",
        oracle=_DONUT,
        path="donut/util.py, JSONParseEvaluator.cal_acc",
        cases=_cases,
        metrics={"tree_accuracy": "tree"},
    ),
)

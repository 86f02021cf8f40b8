"""What stands on the drawn pages: sentences, tables, formulas and invoices of made-up places and goods."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from typing import Any, Literal

Language = Literal["English", "Chinese"]

_PLACES = {
    "English": (
        "harbour", "library", "bakery", "museum", "old mill", "night train", "school garden", "ferry office",
        "weather station", "print shop", "village hall", "dairy", "boat yard", "orchard", "post office",
    ),
    "Chinese": ("图书馆", "面包店", "港口", "博物馆", "老磨坊", "火车站", "气象站", "印刷厂", "果园", "邮局"),
}  # fmt: skip
_VERBS = {
    "English": ("sold", "repaired", "received", "ordered", "counted", "moved", "shipped", "lost", "found", "stored"),
    "Chinese": ("卖出了", "修好了", "收到了", "订购了", "清点了", "运走了", "找到了"),
}
_THINGS = {
    "English": (
        "wooden chairs", "boxes of apples", "maps", "old books", "bicycles", "letters", "glass jars", "ropes",
        "lamps", "bags of flour", "tickets", "wool blankets", "copper pots", "seed packets",
    ),
    "Chinese": ("把木椅", "箱苹果", "张地图", "本旧书", "辆自行车", "封信", "个玻璃瓶", "盏灯", "袋面粉", "张车票"),
}  # fmt: skip
_TIMES = {
    "English": (
        "before the end of May", "in the first week of June", "after a long winter", "without any help",
        "on a quiet Sunday", "while the roof was being mended", "a year later than planned", "in two days",
    ),
    "Chinese": ("在三月初", "上个星期", "去年冬天", "今天早上", "在两天之内", "雨停以后", "春节之前"),
}  # fmt: skip
_GOODS = {
    "English": ("Tea", "Rice", "Lamp", "Rope", "Apples", "Flour", "Map", "Blanket", "Seeds", "Jar", "Bread", "Salt"),
    "Chinese": ("茶叶", "大米", "台灯", "绳子", "苹果", "面粉", "地图", "毛毯", "种子", "面包", "食盐"),
}
_HEADS = {"English": ("Goods", "Number", "Price", "In stock"), "Chinese": ("货物", "数量", "单价", "库存")}
_SELLERS = {
    "English": ("Corner Shop", "Hill & Sons", "Blue Boat Ltd", "North Market", "Old Mill Stores", "Lark Print Co"),
    "Chinese": ("东门商店", "北山茶行", "长河书店", "南街超市", "海风食品"),
}
_CURRENCIES = {"English": ("EUR", "USD", "GBP"), "Chinese": ("CNY",)}
_MONTHS = "January February March April May June July August September October November December"
_LETTERS = "abcdkmnpqrstxyz"

Formula = tuple[Any, ...]
"""A tree: ("text", s), ("row", *parts), ("sup", base, above), ("sub", base, below), ("frac", over, under),
("sqrt", inner)."""


@dataclass(frozen=True)
class Table:
    """A table of texts; with `title` its first row is one cell over all columns."""

    rows: tuple[tuple[str, ...], ...]
    title: str = ""

    def html(self) -> str:
        """The table as the gold has it."""
        head = f'<tr><td colspan="{len(self.rows[0])}">{escape(self.title)}</td></tr>' if self.title else ""
        rows = ("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f"<table>{head}{''.join(rows)}</table>"


@dataclass(frozen=True)
class Invoice:
    """What an invoice or a receipt says, and how its date is printed."""

    language: Language
    is_receipt: bool
    fields: dict[str, Any]
    printed_date: str


def sentence(draw: random.Random, language: Language) -> str:
    """One sentence."""
    place, verb, thing, time = (draw.choice(words[language]) for words in (_PLACES, _VERBS, _THINGS, _TIMES))
    count = draw.randint(2, 980)
    if language == "Chinese":
        return f"{place}{time}{verb}{count}{thing}。"
    begin = draw.choice((f"The {place} {verb} {count} {thing} {time}", f"{time}, the {place} {verb} {count} {thing}"))
    return f"{begin[0].upper()}{begin[1:]}."


def paragraph(draw: random.Random, language: Language, sentences: int) -> str:
    """Some sentences in a row."""
    return ("" if language == "Chinese" else " ").join(sentence(draw, language) for _ in range(sentences))


def title(draw: random.Random, language: Language) -> str:
    """The heading of a page."""
    place = draw.choice(_PLACES[language])
    if language == "Chinese":
        return draw.choice((f"{place}的报告", f"{place}的一年", f"关于{place}"))
    return draw.choice(
        (f"Report of the {place}", f"The {place} in {draw.randint(1950, 2020)}", f"Notes on the {place}")
    )


def table(draw: random.Random, language: Language) -> Table:
    """A table of three to six rows and two to four columns, every third with a title across it."""
    columns = draw.randint(2, 4)
    rows = [_HEADS[language][:columns]]
    for name in draw.sample(_GOODS[language], draw.randint(2, 5)):
        price = f"{draw.randint(1, 40)}.{draw.choice(('00', '50', '25', '99'))}"
        rows.append((name, str(draw.randint(1, 500)), price, str(draw.randint(0, 90)))[:columns])
    return Table(tuple(rows), title(draw, language) if draw.random() < 1 / 3 else "")


def formula(draw: random.Random) -> Formula:
    """A formula of one line."""
    a, b, c, d = (("text", letter) for letter in draw.sample(_LETTERS, 4))
    first, second = (("text", str(draw.randint(2, 99))) for _ in range(2))
    equals, plus = ("text", "="), ("text", "+")
    return draw.choice(
        (
            ("row", ("sup", a, ("text", "2")), plus, ("sup", b, ("text", "2")), equals, ("sup", c, ("text", "2"))),
            ("row", a, equals, ("frac", ("row", b, plus, first), ("row", c, ("text", "-"), second))),
            ("row", a, equals, ("sqrt", ("row", ("sup", b, ("text", "2")), plus, first))),
            ("row", ("sub", a, ("text", "0")), plus, ("sub", a, ("text", "1")), equals, first),
            ("row", ("frac", a, b), equals, ("frac", c, d)),
            ("row", a, equals, first, ("sup", b, second), plus, c),
            ("row", ("frac", ("row", a, plus, b), ("text", "2")), ("text", ">"), ("sqrt", ("row", a, b))),
        )
    )


def latex(tree: Formula) -> str:
    """The formula as the gold has it."""
    kind, *parts = tree
    if kind == "text":
        return str(parts[0])
    inner = [latex(part) for part in parts]
    forms = {"sup": "{}^{{{}}}", "sub": "{}_{{{}}}", "frac": r"\frac{{{}}}{{{}}}", "sqrt": r"\sqrt{{{}}}"}
    return " ".join(inner) if kind == "row" else forms[kind].format(*inner)


def invoice(draw: random.Random, language: Language) -> Invoice:
    """An invoice with tax, or a receipt without."""
    is_receipt = draw.random() < 0.4
    day = date(2018, 1, 1) + timedelta(days=draw.randint(0, 2500))
    names = draw.sample(_GOODS[language], draw.randint(1, 5))
    items: list[dict[str, Any]] = [
        {"name": name, "count": draw.randint(1, 12), "price": draw.randint(100, 9900) / 100} for name in names
    ]
    subtotal = round(sum(item["count"] * item["price"] for item in items), 2)
    tax = round(subtotal * draw.choice((0.05, 0.1, 0.2)), 2)
    fields: dict[str, Any] = {
        "seller": draw.choice(_SELLERS[language]),
        "number": f"{draw.choice('ABKR')}-{draw.randint(1000, 99999)}",
        "date": day.isoformat(),
        "currency": draw.choice(_CURRENCIES[language]),
        "items": items,
        **({} if is_receipt else {"subtotal": subtotal, "tax": tax}),
        "total": subtotal if is_receipt else round(subtotal + tax, 2),
    }
    return Invoice(language, is_receipt, fields, _print_date(draw, day, language))


def _print_date(draw: random.Random, day: date, language: Language) -> str:
    if language == "Chinese":
        return f"{day.year}年{day.month}月{day.day}日"
    return draw.choice((day.isoformat(), f"{day.day} {_MONTHS.split()[day.month - 1]} {day.year}"))

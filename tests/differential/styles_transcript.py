"""Ways in which models transcribe a picture: texts, pages, tables, formulas and forms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.differential.styles_open import BASES, Base, Open, open_question


def _json(change: Callable[[Any], Any]) -> Base:
    """A change of the value, if the text is JSON; else of nothing."""

    def write(a: str, b: str) -> str:
        try:
            return json.dumps(change(json.loads(a)), ensure_ascii=False)
        except ValueError:
            return a

    return write


def _first_name(value: Mapping[str, Any]) -> str:
    return next(iter(value))


TRANSCRIPTS: dict[str, Base] = {
    **BASES,
    "json block": lambda a, b: f"```json\n{a}\n```",
    "json block without end": lambda a, b: f"```json\n{a}",
    "json block in prose": lambda a, b: f"Here it is:\n```json\n{a}\n```\nThat is all.",
    "two json blocks": lambda a, b: f"```json\n{b}\n```\n```json\n{a}\n```",
    "html block": lambda a, b: f"```html\n{a}\n```",
    "html block without end": lambda a, b: f"```html\n{a}",
    "html block in prose": lambda a, b: f"Here:\n```html\n{a}\n```\nThe end.",
    "empty html block": lambda a, b: f"```html```{a}",
    "latex block": lambda a, b: f"```latex\n{a}\n```",
    "latex block without end": lambda a, b: f"```latex\n{a}",
    "two latex blocks": lambda a, b: f"```latex\n{a}\n```\nand\n```latex\n{b}\n```",
    "code of no language": lambda a, b: f"Sure:\n```\n{a}\n```\n",
    "LaTeX document": lambda a, b: (
        "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage{amsmath}\n"
        f"\\begin{{document}}\n\\noindent {a}\n\\end{{document}}"
    ),
    "smiles tags": lambda a, b: f"<smiles> {a} </smiles>",
    "lines in between": lambda a, b: a.replace("><", ">\n  <"),
    "table attributes": lambda a, b: a.replace("<table", '<table border="1" class="x"'),
    "cell attributes": lambda a, b: a.replace("<td>", '<td style="a b">', 1),
    "column span": lambda a, b: a.replace("<td>", '<td colspan="2">', 1),
    "row span": lambda a, b: a.replace("<td>", '<td rowspan="3">'),
    "header cells": lambda a, b: a.replace("<td>", "<th>").replace("</td>", "</th>"),
    "thead": lambda a, b: a.replace("<table>", "<table><thead>").replace("</table>", "</thead></table>"),
    "table body": lambda a, b: a.replace("<table>", "<table><tbody>").replace("</table>", "</tbody></table>"),
    "table not closed": lambda a, b: a.replace("</table>", ""),
    "cells not closed": lambda a, b: a.replace("</td>", ""),
    "rows not closed": lambda a, b: a.replace("</tr>", ""),
    "two tables": lambda a, b: f"{a}\n{b}",
    "two tables, other first": lambda a, b: f"{b}\n{a}",
    "whole page": lambda a, b: f"<!DOCTYPE html><html><body>{a}</body></html>",
    "in a division": lambda a, b: f"<div>{a}</div>",
    "comment": lambda a, b: a.replace("<td>", "<!-- cell --><td>"),
    "bold cells": lambda a, b: a.replace("<td>", "<td><b>").replace("</td>", "</b></td>"),
    "blanks in cells": lambda a, b: a.replace("<td>", "<td>  ").replace("</td>", " </td>"),
    "entities": lambda a, b: a.replace("&", "&amp;").replace(" ", "&nbsp;"),
    "first cell lost": lambda a, b: re.sub(r"<td.*?</td>", "", a, count=1),
    "last row lost": lambda a, b: re.sub(r"<tr>(?:(?!<tr>).)*</tr>(?=</table>)", "", a),
    "Markdown table": lambda a, b: re.sub(r"</?\w+[^>]*>", "|", a),
    "full-width commas": lambda a, b: a.replace(",", "，"),
    "indented JSON": lambda a, b: _json(lambda value: value)(a, b).replace(", ", ",\n  "),
    "field lost": _json(lambda value: {k: v for k, v in value.items() if k != _first_name(value)}),
    "field more": _json(lambda value: {**value, "note": "none"}),
    "field empty": _json(lambda value: {**value, _first_name(value): ""}),
    "field null": _json(lambda value: {**value, _first_name(value): None}),
    "values as lists": _json(lambda value: {k: [v] for k, v in value.items()}),
    "names in capitals": _json(lambda value: {k.upper(): v for k, v in value.items()}),
    "in an outer object": _json(lambda value: {"result": value}),
    "in a list": _json(lambda value: [value]),
    "values only": _json(lambda value: list(value.values())),
    "numbers as numbers": _json(
        lambda value: {
            k: float(v) if isinstance(v, str) and re.fullmatch(r"[\d.]+", v) else v for k, v in value.items()
        }
    ),
    "Python literal": lambda a, b: a.replace('"', "'"),
    "trailing comma": lambda a, b: a.replace("}", ",}"),
    "blanks around signs": lambda a, b: a.replace(",", " , ").replace(".", " . "),
    "words in reverse": lambda a, b: " ".join(reversed(a.split())),
    "each word twice": lambda a, b: " ".join(f"{word} {word}" for word in a.split()),
    "first word alone": lambda a, b: a.split()[0],
    "hashes": lambda a, b: f"### {a} ***",
    "lines": lambda a, b: "\n".join(a.split()),
    "no-break blanks": lambda a, b: a.replace(" ", "\u00a0"),
    "ideographic blanks": lambda a, b: a.replace(" ", "\u3000"),
}


def _form(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


_TABLE = "<table><tr><td>Year</td><td>Net sales</td></tr><tr><td>2021</td><td>1,250.5</td></tr></table>"
_SPANS = (
    '<table><tr><td colspan="2">表一</td></tr><tr><td>甲</td><td>12</td></tr>'
    "<tr><td>乙，丙</td><td>3.5</td></tr></table>"
)
_RECEIPT = _form(menu=[{"name": "Tea large", "price": "2.50"}, {"name": "Cake", "price": "3"}], total="5.50")

ROWS: tuple[tuple[Mapping[str, str], Open], ...] = tuple(
    (
        {"category": track, "l2-category": task, "split": split},
        open_question(f"Transcribe: {track}, {task}, {split}.", gold, wrong),
    )
    for track, task, split, gold, wrong in (
        ("multi_scene_ocr", "scene_text", "IC15", "OPEN 24 Hours (Mon-Sun)", "OPEN 24 h"),
        ("multi_scene_ocr", "scene_text", "TotalText", "Café de la Gare, Paris", "Cafe"),
        ("multi_scene_ocr", "ugc_text", "zh_dense", "欢迎 光临 ABC 12", "欢迎光顾"),
        ("multi_scene_ocr", "document_text", "CORD", "2 Tea large 2.50 Total 5.50", "Tea 2"),
        ("multi_lan_ocr", "German", "German", "Straße gesperrt, bitte wenden!", "Strasse frei"),
        ("multi_lan_ocr", "Japanese", "Japanese", "東京 駅 まで 5 分", "東京タワー"),
        ("multi_lan_ocr", "Arabic", "Arabic", "مفتوح الآن", "مغلق"),
        ("doc_parsing", "doc", "doc_scan_eng", "\\section{Results} We find $x = 2$.", "We find 3"),
        ("doc_parsing", "doc", "doc_photo_chn", "\\title{报告} 第一章 数据, 见表 1。", "报告"),
        ("doc_parsing", "table", "table_scan_eng", _TABLE, _TABLE.replace("2021", "2012")),
        ("doc_parsing", "table", "table_photo_chn", _SPANS, _SPANS.replace("甲", "丁")),
        ("doc_parsing", "formula", "formula_handwriting", "\\frac { a } { b } = c ^ 2", "a/b=c"),
        ("doc_parsing", "molecular", "molecular_handwriting", "CC(=O)Oc1ccccc1C(=O)O", "CCO"),
        ("kie", "constrained_category", "CORD", _RECEIPT, _RECEIPT.replace("Cake", "Cookie")),
        (
            "kie",
            "constrained_category",
            "sroie2019_word",
            _form(company="ACME SDN BHD", date="01/06/2018", address="12, JALAN 7/4", total="8.75"),
            _form(company="ACME", date="01/06/2018"),
        ),
        (
            "kie",
            "open_category",
            "COLD_SIBR",
            _form(姓名="王 小明", 编号="A 12、B 3", 日期="２０２４年1月"),
            _form(姓名="王小明", 编号="A12"),
        ),
    )
)
"""Rows of CC-OCR of every task, with the gold and another text."""

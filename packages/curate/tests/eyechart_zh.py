"""Eyechart in Chinese by a phrase book: what a strong model would reply to the tests."""

from __future__ import annotations

import re

COLOURS = {
    "black": "黑色",
    "blue": "蓝色",
    "green": "绿色",
    "orange": "橙色",
    "pink": "粉色",
    "purple": "紫色",
    "red": "红色",
    "yellow": "黄色",
    "white": "白色",
    "brown": "棕色",
    "gray": "灰色",
}
SHAPES = {
    "circle": "圆形",
    "cross": "十字",
    "diamond": "菱形",
    "object": "物体",
    "ring": "圆环",
    "square": "正方形",
    "star": "星形",
    "triangle": "三角形",
}
PLACES = {
    "left": "左边",
    "right": "右边",
    "above": "上方",
    "below": "下方",
    "top left": "左上角",
    "top right": "右上角",
    "bottom left": "左下角",
    "bottom right": "右下角",
    "first": "第一张",
    "second": "第二张",
    "third": "第三张",
}
KEPT = ("book", "car", "cat", "dog", "exit", "fish", "milk", "open", "stop", "sun", "taxi", "tree")
"""Words that are written in the pictures: they stay English."""

_COLOUR, _SHAPE = "|".join(COLOURS), "|".join(SHAPES)
_THING = rf"(?:the |a |an )?((?:{_COLOUR}) )?((?:{_SHAPE})(?:s|es)?)"
_PATTERNS = [
    (rf"Count {_THING}\.", "数一数{0}的数量。"),
    (rf"How many {_THING} are (?:in the picture|there)\?", "图中有多少个{0}？"),
    (rf"What is the number of {_THING}\?", "{0}的数量是多少？"),
    (rf"Is the number of {_THING} (\d)\?", "{0}的数量是{1}吗？"),
    (rf"Do you see {_THING}\?", "你看到{0}了吗？"),
    (rf"Is there {_THING}(?: in the picture)?\?", "图中有{0}吗？"),
    (rf"Does the (first|second|third) picture contain {_THING}\?", "{0}图片中有{1}吗？"),
    (r"Does the text say (\w+)\?", "文字写的是{0}吗？"),
    (rf"In which picture is {_THING}\?", "{0}在哪张图片中？"),
    (rf"Which picture (?:contains|shows) {_THING}\?", "哪张图片中有{0}？"),
    (rf"In which part of the picture is {_THING}\?", "{0}在图片的哪个部分？"),
    (rf"{_THING} is in which corner\?", "{0}在哪个角？"),
    (rf"{_THING} is on which side of {_THING}\?", "{0}在{1}的哪一侧？"),
    (rf"Where is {_THING} (?:relative to|seen from) {_THING}\?", "从{1}来看，{0}在哪里？"),
    (rf"Where is {_THING}(?: in the picture)?\?", "{0}在图中哪里？"),
    (rf"Is {_THING} in the (top|bottom) (left|right) of the picture\?", "{0}在图片的{1}吗？"),
    (rf"Is {_THING} (?:to the )?(left|right|above|below)(?: of)? {_THING}\?", "{0}在{2}的{1}吗？"),
    (rf"Is {_THING} ({_COLOUR})\?", "{0}是{1}的吗？"),
    (rf"Is {_THING} (?:a|an) ({_SHAPE})\?", "{0}是{1}吗？"),
    (rf"(?:What|Which) colou?r is {_THING}\?", "{0}是什么颜色？"),
    (rf"What is the color of {_THING}\?", "{0}是什么颜色？"),
    (rf"{_THING} is what color\?", "{0}是什么颜色？"),
    (rf"What shape is {_THING}\?", "{0}是什么形状？"),
    (rf"What is the shape of {_THING}\?", "{0}是什么形状？"),
    (rf"{_THING} is a what\?", "{0}是什么？"),
    (rf"(?:What|Which shape) is ({_COLOUR})(?: in the picture)?\?", "图中什么是{0}的？"),
    (r"Which color (?:do you see|is in the picture)\?", "图中是什么颜色？"),
    (r"Which shape (?:do you see|is in the picture)\?", "图中是什么形状？"),
    (r"Which of these is in the picture\?", "图中有以下哪一项？"),
    (r"Read the number in the picture\.", "读出图中的数字。"),
    (r"Read the word in the picture\.", "读出图中的单词。"),
    (r"(?:What|Which) number is (?:written in the picture|shown)\?", "图中写的数字是什么？"),
    (r"(?:What|Which) word is (?:written in the picture|shown)\?", "图中写的单词是什么？"),
    (r"What does the text say\?", "文字写的是什么？"),
]
_IMAGE = re.compile(r"(?:Look at the (first|second|third) picture\. |In the (first|second|third) picture: )(.+)")


def translate(text: str) -> str:
    """The Chinese text. Raises KeyError for what is not of eyechart."""
    words = {**COLOURS, **SHAPES, **PLACES}
    if text in words:
        return words[text]
    if text.isdigit() or text in KEPT:
        return text
    image = _IMAGE.fullmatch(text)
    if image:
        question = image[3][0].upper() + image[3][1:]
        return f"请看{PLACES[image[1] or image[2]]}图片。{translate(question)}"
    for pattern, chinese in _PATTERNS:
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match:
            return chinese.format(*_phrases(match.groups()))
    raise KeyError(text)


def _phrases(groups: tuple[str | None, ...]) -> list[str]:
    """The parts of a sentence: a thing is two groups, its colour and its shape."""
    phrases: list[str] = []
    rest = list(groups)
    while rest:
        part = rest.pop(0)
        if part is None or (part.strip() in COLOURS and part.endswith(" ")):
            shape = rest.pop(0)
            assert shape is not None
            colour = f"{COLOURS[part.strip()]}的" if part else ""
            phrases.append(colour + SHAPES[_singular(shape)])
        elif part in ("top", "bottom"):
            phrases.append(PLACES[f"{part} {rest.pop(0)}"])
        else:
            phrases.append({**COLOURS, **SHAPES, **PLACES}.get(part, part))
    return phrases


def _singular(shape: str) -> str:
    """ "crosses" and "circles" without their ending."""
    return next(one for one in (shape, shape[:-1], shape[:-2]) if one in SHAPES)

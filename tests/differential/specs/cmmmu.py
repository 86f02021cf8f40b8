"""CMMMU: choices with one or several right options, statements and answers to fill in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential import styles_choice
from tests.differential.questions_choice import CHINESE
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices_authors import CMMMU, authors_set
from tests.differential.specs.open_answers import VLMEVALKIT_OPEN
from tests.differential.specs.pictures import filler
from tests.differential.styles_choice import choice
from tests.differential.wrapping import wrapped_styles

_DISCIPLINES = ("技术与工程", "科学", "健康与医学", "商业", "艺术与设计", "人文社会科学")
_APART = "apart: "
"""Begins the styles in some rows of which nothing is found, and an answer is drawn at random, or
one question counts more than once."""
_SEVERAL: Mapping[str, Callable[[str], str]] = {
    "letters": lambda s: s,
    "letters by commas": lambda s: ", ".join(s),
    "letters by Chinese commas": lambda s: "、".join(s),
    "letters by and": lambda s: "和".join(s),
    "letters in parentheses each": lambda s: "".join(f"({a})" for a in s),
    "letters in parentheses": lambda s: f"({s})",
    "answer letters": lambda s: f"答案：{s}",
    "answer is letters": lambda s: f"正确答案是{'、'.join(s)}。",
    "choose letters": lambda s: f"应选{s}",
    "letters twice": lambda s: f"{s}，所以选{s}",
    "one of them twice": lambda s: f"{s}。{s[0]}最明显。",
    "parentheses each with words": lambda s: "，".join(f"({a})正确" for a in s),
    "reversed": lambda s: s[::-1],
    "others denied": lambda s: f"选{s}，其余错误",
    "bold letters": lambda s: f"**{s}**",
    "boxed letters": lambda s: f"\\boxed{{{s}}}",
    "a sentence each": lambda s: "。".join(f"{a}项正确" for a in s),
}
_STATEMENTS = (
    "{0}",
    "{0}。",
    "{0}的",
    "{0}的。",
    "{1}",
    "答案：{0}",
    "答案是{0}",
    "答案是{0}的。",
    "答案：{0}。",
    "答案为{2}。",
    "{2}",
    "{2}。",
    "{2}的",
    "这一说法{2}。",
    "这一说法是{2}的。",
    "该说法是{0}的",
    "判断：{0}",
    "判断：{2}",
    "判断结果：{0}",
    "判断结果为{2}。",
    "结果是{0}",
    "所以{0}",
    "所以答案是{0}。",
    "所以这种说法是{2}的。",
    "陈述{2}",
    "该陈述是{2}的",
    "表达{2}",
    "这个说法不{0}",
    "这个说法不{2}。",
    "不{0}",
    "不{2}",
    "是{0}的",
    "是否{2}？{0}",
    "对错：{0}",
    "图中有三个人。所以{0}。",
    "图中有三个人，说法是{2}的。图像清楚。",
    "图中为一只猫。\n答案：{0}",
    "第一，图清楚。\n第二，结果为{2}",
    "**{0}**",
    "**答案：{0}**",
    "“{0}”",
    "({0})",
    "正确性：{0}",
    "{0}或者{1}",
    "答案是{0}。答案是{0}。",
    "说法是{0}的。陈述为{2}的。",
    "我认为答案是{0}，因为图中很清楚。",
    "不合适",
    "否定",
    "肯定",
    "准确",
    "不准确",
    "True",
    "Yes",
    "我不知道",
    "无法判断",
    "图片看不清楚。",
    "<think>是对的吗？</think>{0}",
    "  {0}  ",
    "。",
)
"""Gold word, the other one, and the long word for the gold."""
_FILLED = (
    "{0}",
    "{0}。",
    "{0}.",
    " {0} ",
    "是{0}",
    "为{0}。",
    "答案是{0}",
    "答案：{0}",
    "答案为{0}。",
    "结果是{0}",
    "结果等于{0}",
    "所以{0}",
    "因此答案是{0}。",
    "正确答案：{0}",
    "最后{0}",
    "最后得到{0}",
    "选择{0}",
    "方案{0}",
    "得= {0}",
    "x={0}",
    "x = {0}",
    "x={0}\n完成",
    "第一步是{1}。所以结果是{0}。",
    "第一步是{1}\n第二步是{0}",
    "结果是{0}。再算一次，等于{0}。",
    "{0}个",
    "{0} cm",
    "大约{0}",
    "{0}左右",
    "{0}或{1}",
    "{1}",
    "是{1}",
    "答案是{1}，不是{0}",
    "**{0}**",
    "**答案**：{0}",
    "“{0}”",
    "({0})",
    "[{0}]",
    "\\boxed{{{0}}}",
    "${0}$",
    "答案是:",
    "是",
    "{0}{0}",
    "{0}, {1}",
    "{0}\n{1}",
    "{1}\n{0}",
    "the answer is {0}",
    "Answer: {0}",
    "<think>是{1}吗？</think>{0}",
    "我不知道",
    "无法回答这个问题，因为图片看不清楚，请提供更清楚的图片。",
    "。",
    "0",
    "-{0}",
    "{0}.0",
    "{0}.004",
    "{0}e0",
    "1，000",
    "结果是1，234，567",
    "图中有很多人站在桥上面，他们看着河里的船，答案在图的左边。{0}",
    "图中有很多人站在桥上面，他们看着河里的船，而且右边还写着{0}这样的字",
    "答案是{0}。结果为{0}左右",
)
"""Gold and something else."""
_BLANKS = (
    ("图中有____个人。", "3", "5"),
    ("方块的颜色是____。", "蓝色", "红色"),
    ("电流为____安培。", "2.50", "3.5"),
    ("这座塔叫____。", "雷峰塔", "大雁塔"),
    ("总人数为____。", "1,234", "1243"),
    ("该分子式为____。", "H2O", "CO2"),
    ("曲线的斜率为____。", "-0.5", "0.5"),
    ("图中的年份是____。", "1998", "1989"),
)
_MORE = (
    choice("图中有哪些颜色？", "AC", "红", "绿", "蓝", "灰"),
    choice("以下哪些说法正确？", "BCD", "图中有船", "图中有桥", "图中有人", "图中有塔"),
)


def _choice_cells(question: styles_choice.Choice) -> dict[str, Any]:
    texts = {f"option{n}": text for n, text in enumerate(question.options.values(), start=1)}
    return {"type": "选择", "question": question.question, **texts, "answer": question.gold}


def _rows() -> Iterator[tuple[Mapping[str, Any], str, str]]:
    """Cells, style and reply."""
    for turn in range(2):
        for position in range(len(list(styles_choice.styles()))):
            question = CHINESE[(position + turn * 2) % len(CHINESE)]
            style, reply = list(styles_choice.replies(question, turn))[position]
            yield _choice_cells(question), style, reply
    several = wrapped_styles(dict(_SEVERAL), styles_choice.WRAPPERS)
    for number, (style, write) in enumerate(several):
        for question in _MORE:
            said = question.gold if number % 3 else "AB"
            yield _choice_cells(question), f"several: {style}", write(said)
    for number, form in enumerate(_STATEMENTS):
        for turn, (gold, other, long) in enumerate((("对", "错", "正确"), ("错", "对", "错误"))):
            said = (gold, other, long) if (number + turn) % 3 else (other, gold, "不对")
            cells = {"type": "判断", "question": "图中有船。", "answer": gold}
            yield cells, f"statement {number}", form.format(*said)
    for number, form in enumerate(_FILLED):
        for turn in range(3):
            question, gold, other = _BLANKS[(number + turn * 3) % len(_BLANKS)]
            said = (gold, other) if (number + turn) % 4 else (other, gold)
            cells = {"type": "填空", "question": question, "answer": gold}
            yield cells, f"blank {number}", form.format(*said)


def _cases() -> Iterator[Case]:
    for number, (cells, style, reply) in enumerate(_rows(), start=1):
        base = style.partition(", ")[0]
        yield Case(
            str(number),
            {**cells, "category": _DISCIPLINES[number % len(_DISCIPLINES)]},
            f"{_APART}{style}" if base in _SILENT else style,
            reply,
        )


_SILENT = frozenset(
    {
        "A alone in prose",
        "Answer small",
        "empty dots",
        "letter out of range",
        "long prose without letter",
        "no image",
        "none of them",
        "number",
        "refusal",
        "small letter",
        "small letter in parentheses",
        "statement 32",
        "statement 33",
        "statement 42",
        "statement 43",
        "statement 45",
        "statement 46",
        "statement 52",
        "statement 53",
        "statement 54",
        "statement 55",
        "statement 56",
        "statement 59",
        f"blank {len(_FILLED) - 1}",
    }
)
_TEXTS = {f"option{n}": "q" for n in range(1, 5)}
"""So that no column holds numbers alone, which pandas would read as such."""
_FILLERS = [
    filler(n, type="填空", question="q", answer="z", category=name, **_TEXTS) for n, name in enumerate(_DISCIPLINES)
]

SPECS = (
    Spec(
        name="cmmmu.vlmevalkit",
        headline="总准确率",
        benchmark="cmmmu",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path="vlmeval/dataset/cmmmu.py, CMMMU.evaluate",
        cases=_cases,
        arguments={
            "how": "alone",
            "dataset": "CMMMU_VAL",
            "metric": "总准确率",
            "factor": len(_FILLERS) + 1,
            "scale": 100,
            "fillers": _FILLERS,
            "lots": "cmmmu",
        },
        metrics={"accuracy": "总准确率"},
        apart=_APART,
    ),
    authors_set(
        "cmmmu",
        "cmmmu",
        CMMMU,
        "eval/utils/eval_utils.py, evaluate_response",
        _cases,
        {"accuracy": "acc"},
        apart=_APART,
    ),
)

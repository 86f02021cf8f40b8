"""Lengths, measures of several types, orders of steps, and questions with several right options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_choice, styles_open
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.specs.open_answers import NO_HEADLINE, VLMEVALKIT_OPEN
from tests.differential.specs.pictures import filler
from tests.differential.styles_open import open_question
from tests.differential.wrapping import wrapped_styles

_TEXT = Mapping[str, Callable[..., str]]


def _cases(rows: Callable[[], Iterator[tuple[Mapping[str, Any], str, str]]]) -> Callable[[], Iterator[Case]]:
    """Cases of cells, style and reply, numbered."""

    def cases() -> Iterator[Case]:
        for number, (cells, style, reply) in zip(count(1), rows(), strict=False):
            yield Case(str(number), cells, style, reply)

    return cases


_LENGTHS: _TEXT = {
    "as asked": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{{u}}}",
    "no backslashes": lambda n, u: f"scalar{{{n}}} distance_unit{{{u}}}",
    "no blank": lambda n, u: f"\\scalar{{{n}}}\\distance_unit{{{u}}}",
    "in dollars": lambda n, u: f"$\\scalar{{{n}}}$ $\\distance_unit{{{u}}}$",
    "two lines": lambda n, u: f"\\scalar{{{n}}}\n\\distance_unit{{{u}}}",
    "unit first": lambda n, u: f"\\distance_unit{{{u}}} \\scalar{{{n}}}",
    "blanks inside": lambda n, u: f"\\scalar{{ {n} }} \\distance_unit{{{u}}}",
    "blanks around the unit": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{ {u} }}",
    "unit in capitals": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{{u.upper()}}}",
    "unit with a dot": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{{u}.}}",
    "unit as text": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{\\text{{{u}}}}}",
    "number with unit": lambda n, u: f"\\scalar{{{n} {u}}} \\distance_unit{{{u}}}",
    "about": lambda n, u: f"\\scalar{{about {n}}} \\distance_unit{{{u}}}",
    "range": lambda n, u: f"\\scalar{{{n}-{n}}} \\distance_unit{{{u}}}",
    "range in words": lambda n, u: f"\\scalar{{{n} to {n}}} \\distance_unit{{{u}}}",
    "wide range": lambda n, u: f"\\scalar{{0-{n}}} \\distance_unit{{{u}}}",
    "minus": lambda n, u: f"\\scalar{{-{n}}} \\distance_unit{{{u}}}",
    "thousands": lambda n, u: f"\\scalar{{1,{n}}} \\distance_unit{{{u}}}",
    "fraction": lambda n, u: f"\\scalar{{{n}/2}} \\distance_unit{{{u}}}",
    "exponent": lambda n, u: f"\\scalar{{{n}e0}} \\distance_unit{{{u}}}",
    "no number": lambda n, u: f"\\scalar{{unknown}} \\distance_unit{{{u}}}",
    "empty": lambda n, u: f"\\scalar{{}} \\distance_unit{{{u}}}",
    "zero": lambda n, u: f"\\scalar{{0}} \\distance_unit{{{u}}}",
    "no unit": lambda n, u: f"\\scalar{{{n}}}",
    "unit alone": lambda n, u: f"\\distance_unit{{{u}}}",
    "other unit": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{yards}}",
    "empty unit": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{}}",
    "millimetres": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{mm}}",
    "inches": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{inches}}",
    "foot": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{foot}}",
    "metre": lambda n, u: f"\\scalar{{{n}}} \\distance_unit{{metre}}",
    "two answers": lambda n, u: f"\\scalar{{9999}} \\distance_unit{{cm}}, or \\scalar{{{n}}} \\distance_unit{{{u}}}",
    "two scalars": lambda n, u: f"\\scalar{{9999}} \\scalar{{{n}}} \\distance_unit{{{u}}}",
    "two numbers": lambda n, u: f"\\scalar{{{n}, 9999}} \\distance_unit{{{u}}}",
    "in a sentence": lambda n, u: f"The shelf is \\scalar{{{n}}} \\distance_unit{{{u}}} from the wall.",
    "bold": lambda n, u: f"**\\scalar{{{n}}} \\distance_unit{{{u}}}**",
    "boxed": lambda n, u: f"\\boxed{{\\scalar{{{n}}} \\distance_unit{{{u}}}}}",
    "not closed": lambda n, u: f"\\scalar{{{n} \\distance_unit{{{u}}}",
    "without marks": lambda n, u: f"{n} {u}",
    "sentence without marks": lambda n, u: f"It is about {n} {u}.",
    "tuple": lambda n, u: f"({n}, {u})",
    "refusal": lambda n, u: "I'm sorry, but I can't help with that.",
    "cannot": lambda n, u: "The distance cannot be determined from the picture.",
    "number alone": lambda n, u: str(n),
    "dots": lambda n, u: "...",
    "placeholders": lambda n, u: "\\scalar{NUMBER} \\distance_unit{UNIT}",
}
_TRUTHS = ((1.2, "meters"), (45.0, "cm"), (6.5, "feet"), (10.0, "inches"), (0.5, "m"), (30.5, "in"))
_SAID = ((1.3, "meters"), (2.0, "feet"), (80.0, "cm"), (0.25, "m"), (20.0, "inches"), (3.0, "ft"))
_KINDS = ("object_width", "object_height", "vertical_distance", "horizontal_distance")


def _length_rows() -> Iterator[tuple[Mapping[str, Any], str, str]]:
    number = count()
    written = wrapped_styles(_LENGTHS, styles_open.WRAPPERS)
    written += [
        (f"{style}, further", write)
        for style, write in wrapped_styles(_LENGTHS, {"note": "Note the scale.\n{}".format})[46:]
    ]
    for turn in range(3):
        for style, write in written:
            position = next(number)
            value, unit = _TRUTHS[position % len(_TRUTHS)]
            said, by = (value, unit) if position % 4 == turn else _SAID[(position * 5) % len(_SAID)]
            cells = {
                "question": "How far is it?",
                "answer": f"({value}, '{unit}')",
                "question_type": _KINDS[position % len(_KINDS)],
            }
            yield cells, style, write(said, by)


_MEASURED = (
    ("int", open_question("How many chairs are there?", "3|three", "4|13|a few")),
    ("float", open_question("How high is the door in metres?", "2.0|2", "2.3|2.9|1.1|two|20")),
    ("str", open_question("Is the lamp nearer than the bed?", "yes|true", "no|maybe")),
    ("float", open_question("How often does it fit?", "1.45", "1.5|1.44|3|0.7|1,45")),
    ("str", open_question("Which is the tallest?", "red lamp", "table|the lamp|Red Lamp")),
    ("int", open_question("How many red cups?", "12", "12.0|11|1")),
    ("str", open_question("Is it wider than high?", "no|false", "yes|not sure")),
)
_PARTS = {"int": "count", "float": "size"}


def _measure_rows() -> Iterator[tuple[Mapping[str, Any], str, str]]:
    for turn in range(4):
        for position, (style, write) in enumerate(styles_open.styles()):
            kind, question = _MEASURED[(position + turn * 3) % len(_MEASURED)]
            reply = styles_open.reply_to(question, write, position + turn)
            gold = question.golds[0]
            part = _PARTS.get(kind) or ("yes_no" if gold in ("yes", "no") else "choice")
            cells = {"question": question.question, "answer": gold, "answer_type": kind, "part": part}
            tagged = turn % 2 and style != "end mark"
            yield (cells, f"{style}, tagged" if tagged else style, (f"<ans>{reply}</ans>" if tagged else reply))


_ORDERS: _TEXT = {
    "letters": lambda s: s,
    "letters with dot": lambda s: f"{s}.",
    "small letters": lambda s: s.lower(),
    "quoted": lambda s: f"'{s}'",
    "bold": lambda s: f"**{s}**",
    "boxed": lambda s: f"\\boxed{{{s}}}",
    "Answer": lambda s: f"Answer: {s}",
    "the answer is": lambda s: f"The answer is {s}.",
    "the right order is": lambda s: f"The right order is {s}",
    "sequence": lambda s: f"The sequence is '{s}' as seen in the pictures.",
    "in brackets": lambda s: f"[{s}]",
    "in parentheses": lambda s: f"({s})",
    "answer tag": lambda s: f"<answer>{s}</answer>",
    "json": lambda s: f'{{"order": "{s}"}}',
    "by commas": lambda s: ", ".join(s),
    "by commas no blanks": lambda s: ",".join(s),
    "by blanks": lambda s: " ".join(s),
    "by arrows": lambda s: " -> ".join(s),
    "by Unicode arrows": lambda s: "→".join(s),
    "by hyphens": lambda s: "-".join(s),
    "by greater": lambda s: " > ".join(s),
    "by then": lambda s: " then ".join(s),
    "each in parentheses": lambda s: " ".join(f"({a})" for a in s),
    "lines": lambda s: "\n".join(s),
    "numbered": lambda s: "\n".join(f"{n}. {a}" for n, a in enumerate(s, start=1)),
    "steps": lambda s: "\n".join(f"Step {n}: {a}" for n, a in enumerate(s, start=1)),
    "steps on one line": lambda s: "; ".join(f"step {n} = {a}" for n, a in enumerate(s, 1)),
    "steps of five": lambda s: "\n".join(f"Step {n}: {a}" for n, a in enumerate(s + s[0], start=1)),
    "Chinese steps": lambda s: "\n".join(f"步骤{n}：{a}" for n, a in enumerate(s, start=1)),
    "Chinese ordinals": lambda s: "第一步{}，第二步{}，第三步{}，第四步{}".format(*s),
    "first, second": lambda s: "First {}, second {}, third {}, fourth {}.".format(*s),
    "1st, 2nd": lambda s: "1st: {}; 2nd: {}; 3rd: {}; 4th: {}".format(*s),
    "ordinals in lines": lambda s: "First {}\nSecond {}\nThird {}\nFourth {}".format(*s),
    "first, finally": lambda s: "First {}, then {}, then {}, finally {}.".format(*s),
    "three letters": lambda s: s[:3],
    "five letters": lambda s: s + s[0],
    "twice the same": lambda s: s[:2] * 2,
    "unknown letter": lambda s: s[:3] + "E",
    "two orders": lambda s: f"{s[::-1]} is wrong, {s} is right",
    "order and reverse": lambda s: f"{s}, not {s[::-1]}",
    "options named": lambda s: f"Options ABCD: the order is {s}",
    "because": lambda s: f"{s}, because the base comes before the top.",
    "prose before": lambda s: f"The base is laid, and a brick is added. {s}",
    "a word of the letters": lambda s: f"A DAB of glue: {s}",
    "refusal": lambda s: "I'm sorry, but I can't help with that.",
    "cannot": lambda s: "The order cannot be determined.",
    "a letter": lambda s: s[0],
    "numbers": lambda s: "2413",
    "Chinese": lambda s: f"答案是{s}。",
    "dots": lambda s: "...",
    "long prose": lambda s: f"The pictures show how a house is built. {s[0]} comes early.",
    "texts": lambda s: ", ".join(f"brick {a}" for a in s),
}


def _order_rows() -> Iterator[tuple[Mapping[str, Any], str, str]]:
    golds = ("BDAC", "ABCD", "DCBA", "CADB", "ACBD")
    texts = {label: f"<image {n}>" for n, label in enumerate("ABCD", start=1)}
    for turn in range(4):
        for position, (style, write) in enumerate(wrapped_styles(_ORDERS, styles_choice.WRAPPERS)):
            gold = golds[(position + turn) % len(golds)]
            said = gold if (position + turn) % 3 else golds[(position + turn + 2) % len(golds)]
            cells = {
                "question": "In which order are the bricks laid?",
                **texts,
                "answer": gold,
                "question_type": "sort",
                "category": ("height", "assembly")[position % 2],
            }
            yield cells, style, write(said)


_LISTS: _TEXT = {
    "list": lambda s: str(list(s)),
    "list, double quotes": lambda s: str(list(s)).replace("'", '"'),
    "list, no blanks": lambda s: str(list(s)).replace(" ", ""),
    "list reversed": lambda s: str(list(s[::-1])),
    "list with blanks around": lambda s: f"{list(s)}  ",
    "list in lines": lambda s: str(list(s)).replace(" ", "\n"),
    "tuple": lambda s: str(tuple(s)),
    "set": lambda s: str(set(s)) if len(s) == 1 else f"{{'{s[0]}', '{s[1]}'}}",
    "text": lambda s: f"'{s}'",
    "text of a list": lambda s: f'"{list(s)}"',
    "twice the first": lambda s: str([s[0], *s]),
    "list of numbers": lambda s: str([ord(a) - 64 for a in s]),
    "mixed list": lambda s: str([s[0], 1]),
    "nested list": lambda s: str([list(s)]),
    "empty list": lambda s: "[]",
    "number": lambda s: "2",
    "None": lambda s: "[None]",
    "a letter more": lambda s: str(sorted({*s, "E"})),
    "a letter less": lambda s: str(list(s[:-1])),
    "small letters": lambda s: str([a.lower() for a in s]),
    "dictionary": lambda s: str(dict.fromkeys(s, 1)),
    "comma behind": lambda s: str(list(s)).replace("]", ",]"),
    "sum of lists": lambda s: f"{list(s)} + []",
    "comment behind": lambda s: f"{list(s)} # these",
}
_PLAIN_LISTS: _TEXT = {
    "letters": lambda s: s,
    "letters by commas": lambda s: ", ".join(s),
    "Answer list": lambda s: f"Answer: {list(s)}",
    "bare list": lambda s: f"[{', '.join(s)}]",
}
_SEVERAL_GOLDS = ("B", "AC", "ABD", "D", "BC")


def _list_rows() -> Iterator[tuple[Mapping[str, Any], str, str]]:
    """Replies that are lists; in wrappers, and otherwise, most are none."""
    plain = {
        **{
            name: (lambda s, write=write: write(s[0], "red", "D", "blue"))
            for name, write in styles_choice.BASES.items()
        },
        **_PLAIN_LISTS,
    }
    every = [*wrapped_styles(_LISTS, styles_choice.WRAPPERS), *plain.items()]
    for turn in range(3):
        for position, (style, write) in enumerate(every):
            question = pools.KNOWLEDGE[position % len(pools.KNOWLEDGE)]
            gold = _SEVERAL_GOLDS[(position + turn) % len(_SEVERAL_GOLDS)]
            said = gold if (position + turn) % 3 else "AD"
            cells = {"question": question.question, **question.options, "answer": str(list(gold))}
            yield cells, style, write(said)


_PAIRED = ("gc-mat", "gc-trk", "oc-cpr", "pc-cpr")
_LINKED = {
    **dict.fromkeys(_PAIRED, open_question("Is it so? Answer T or F.", "T|True", "F|no|maybe")),
    **dict.fromkeys(("oc-cnt", "pc-cnt"), open_question("How many?", "3|three", "4|2|1|twenty one|0|31")),
    **dict.fromkeys(("oc-grp", "pc-grp"), open_question("Which? A) 1 B) 2 C) 3", "B) 2|B", "A) 1|C|(A) or (B)")),
}
_TASKS = tuple(_LINKED)


def _linked_cases() -> Iterator[Case]:
    """Two statements for each pair, of which the second is mostly right."""
    number = 0
    for turn in range(4):
        for position, (style, write) in enumerate(styles_open.styles()):
            number += 1
            task = _TASKS[(position + turn * 3) % len(_TASKS)]
            question = _LINKED[task]
            reply = styles_open.reply_to(question, write, position + turn)
            gold = question.golds[0]
            cells = {"question": question.question, "answer": gold, "category": task}
            if task.endswith("cnt"):
                cells["image_seq_len"] = 3 + number % 6
            name = f"{task}_{number}"
            yield Case(f"{name}_p" if task in _PAIRED else name, cells, style, reply)
            if task in _PAIRED:
                other = {**cells, "answer": "F"}
                said = "F" if number % 3 else "T"
                yield Case(f"{name}_n", other, "plain", said)


_FILE = "vlmeval/dataset/image_vqa.py, {}"
SPECS = (
    Spec(
        name="q-spatial.vlmevalkit",
        headline="delta_2",
        benchmark="q-spatial",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path=_FILE.format("QSpatial.parse_prediction and evaluate"),
        cases=_cases(_length_rows),
        arguments={
            "how": "alone",
            "dataset": "QSpatial_plus",
            "metric": "delta_2",
            "factor": 2,
            "plain": True,
            "scale": 100,
            "fillers": [filler(1, question="q", answer="(1, 'm')", question_type="none")],
        },
        metrics={
            "success_rate": "delta_2",
            "within_1.5": "delta_1_point_5",
            "question_type/object_width": "object_width_delta_2",
        },
    ),
    Spec(
        name="omni3d-bench.vlmevalkit",
        benchmark="omni3d-bench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path="vlmeval/dataset/utils/omni3dbench.py, Omni3DBench_acc",
        cases=_cases(_measure_rows),
        arguments={
            "how": "alone",
            "dataset": "Omni3DBench",
            "scale": 100,
            "leads": NO_HEADLINE,
            "parts": {
                "count": ["Numeric (count) Accuracy", 1],
                "size": ["Numeric (other) Mean Relative Accuracy", 1],
                "yes_no": ["Yes/No Accuracy", 1],
                "choice": ["Multiple Choice Accuracy", 1],
            },
            # Of no type, so that it counts nowhere; it keeps columns of numbers texts.
            "fillers": [filler(1, question="q", answer="z", answer_type="none", part="none")],
        },
        metrics={
            "measure/count": "Numeric (count) Accuracy",
            "measure/size": "Numeric (other) Mean Relative Accuracy",
            "measure/yes_no": "Yes/No Accuracy",
            "measure/choice": "Multiple Choice Accuracy",
        },
    ),
    Spec(
        name="vlm2bench.vlmevalkit",
        benchmark="vlm2bench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path="vlmeval/dataset/utils/vlm2bench.py",
        cases=_linked_cases,
        arguments={
            "how": "alone",
            "dataset": "VLM2Bench",
            "metric": "{category}",
            "factor": 0.01,
            "pairs": list(_PAIRED),
            "plain": True,
            "leads": NO_HEADLINE,
            # Of no task, so that it counts nowhere; it keeps columns of numbers texts.
            "fillers": [filler(1, question="q", answer="z", category="none")],
        },
        metrics={task: task for task in _TASKS},
    ),
    Spec(
        name="lego-puzzles-order.vlmevalkit",
        benchmark="lego-puzzles",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/utils/matching_util.py, can_infer_lego, questions of order",
        cases=_cases(_order_rows),
        arguments={"dataset": "LEGO", "scale": 100},
        metrics={"accuracy": "Overall", "category/height": "height"},
    ),
    Spec(
        name="a4bench.vlmevalkit",
        benchmark="a4bench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path="vlmeval/dataset/image_mcq.py, AffordanceDataset.is_match",
        cases=_cases(_list_rows),
        arguments={"how": "alone", "dataset": "A4Bench", "metric": "match", "errors": True},
    ),
)

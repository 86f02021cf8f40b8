"""Places as the model families print them. The replies are our own, in the forms of the sources that
the comments name."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from snellen.core.output import Answer, ParsedAnswer
from snellen.core.place import Box, Places, Point, load_places, parse_space
from snellen.core.sample import Sample
from snellen.extract.places.read import parse_places

EXTENT = (1000, 500)
CAT, DOG = Box(100, 100, 300, 250), Box(500, 50, 900, 450)
"""In thousandths [100, 200, 300, 500] and [500, 100, 900, 900]."""


class Reply(NamedTuple):
    text: str
    places: tuple[Box | Point, ...]
    space: str = "thousandths"
    count: int | None = 1
    labels: tuple[str, ...] = ()
    sent: tuple[tuple[int, int], ...] = ()


def read(reply: Reply, stop_reason: str = "stop") -> Answer:
    sample = Sample("1", "place", "Where is the cat?", extent=EXTENT)
    shape = "point" if reply.places and isinstance(reply.places[0], Point) else "box"
    return parse_places(
        reply.text, stop_reason, sample, reply.sent, shape=shape, count=reply.count, space=parse_space(reply.space)
    )


def check(reply: Reply, stop_reason: str = "stop") -> ParsedAnswer:
    answer = read(reply, stop_reason)
    assert isinstance(answer, ParsedAnswer), answer
    places = load_places(answer.value)
    assert [*map(tuple, places.boxes), *map(tuple, places.points)] == [pytest.approx(one) for one in reply.places]
    assert places.labels == reply.labels
    assert places.extent == EXTENT
    return answer


BOTH = {"count": None, "labels": ("cat", "dog")}
JSON = (
    # QwenLM/Qwen2.5-VL, cookbooks/spatial_understanding.ipynb: pixels of the picture as it was resized
    Reply(
        '```json\n[\n\t{"bbox_2d": [50, 100, 150, 250], "label": "cat"}\n]\n```',
        (CAT,),
        "sent-pixels",
        labels=("cat",),
        sent=((500, 500),),
    ),
    # QwenLM/Qwen3-VL, cookbooks/2d_grounding.ipynb: thousandths
    Reply(
        '```json\n[\n\t{"bbox_2d": [100, 200, 300, 500], "label": "cat"},\n'
        '\t{"bbox_2d": [500, 100, 900, 900], "label": "dog"}\n]\n```',
        (CAT, DOG),
        **BOTH,
    ),
    Reply('{"point_2d": [100, 200], "label": "nose"}', (Point(100, 100),), labels=("nose",)),
    # google-gemini/cookbook, quickstarts/Spatial_understanding.ipynb: y first
    Reply(
        '```json\n[\n  {"box_2d": [200, 100, 500, 300], "label": "cat"},\n'
        '  {"box_2d": [100, 500, 900, 900], "label": "dog"}\n]\n```',
        (CAT, DOG),
        "thousandths-yx",
        **BOTH,
    ),
    Reply(
        '[{"point": [200, 100], "label": "ear"}, {"point": [900, 500], "label": "tail"}]',
        (Point(100, 100), Point(500, 450)),
        "thousandths-yx",
        None,
        ("ear", "tail"),
    ),
    # zai-org/GLM-V, README: a list between box tokens
    Reply("<|begin_of_box|>[[100, 200, 300, 500]]<|end_of_box|>", (CAT,)),
    Reply("The cat is at <|begin_of_box|>[100,200,300,500]<|end_of_box|>.", (CAT,)),
    # lirang04/GroundingME, evaluate.py
    Reply('{"bbox_2d": [100, 200, 300, 500]}', (CAT,)),
    Reply("{'bbox_2d': [100, 200, 300, 500], 'label': 'cat'}", (CAT,), labels=("cat",)),
    Reply('{"label": "cat", "bbox": [100.0, 200.0, 300.0, 500.0]}', (CAT,), labels=("cat",)),
    Reply(
        '{"bbox_2d": [100, 200, 300, 500], "label": "cat"}\n{"bbox_2d": [500,100,900,900], "label": "dog"}',
        (CAT, DOG),
        **BOTH,
    ),
    Reply('{"cat": [100, 200, 300, 500], "dog": [500, 100, 900, 900]}', (CAT, DOG), **BOTH),
    Reply('{"bbox": ["100", "200", "300", "500"]}', (CAT,)),
    Reply('{"objects": [{"bounding_box": [100, 200, 300, 500], "class": "cat"}]}', (CAT,), labels=("cat",)),
    Reply('{"boxes": [[100, 200, 300, 500], [500, 100, 900, 900]]}', (CAT, DOG), count=None),
    Reply('{"bbox_2d": [[100, 200, 300, 500]], "label": "a \\"cat\\""}', (CAT,), labels=('a "cat"',)),
    Reply('// the cat\n{bbox_2d: [100, 200, 300, 500,], /* left */ "label": "cat",}', (CAT,), labels=("cat",)),
    # vikhyatk/moondream: names for the edges, fractions
    Reply('{"objects": [{"x_min": 0.1, "y_min": 0.2, "x_max": 0.3, "y_max": 0.5}]}', (CAT,), "fractions"),
    Reply('{"x1": 100, "y1": 200, "x2": 300, "y2": 500}', (CAT,)),
    Reply('{"left": 100, "top": 200, "right": 300, "bottom": 500, "label": "cat"}', (CAT,), labels=("cat",)),
    Reply('{"x": 100, "y": 200, "width": 200, "height": 300}', (CAT,)),
    Reply('{"bbox": {"cx": 0.2, "cy": 0.35, "w": 0.2, "h": 0.3}}', (CAT,), "fractions"),
    Reply('{"x0": 100, "y0": 200, "x1": 300, "y1": 500}', (CAT,)),
    # A tool call of an agent: QwenLM/Qwen2.5-VL, cookbooks/computer_use.ipynb
    Reply(
        '<tool_call>\n{"name": "computer_use", "arguments": '
        '{"action": "left_click", "coordinate": [50, 100]}}\n</tool_call>',
        (Point(100, 100),),
        "sent-pixels",
        sent=((500, 500),),
    ),
)
TAGS = (
    # OpenGVLab/InternVL, internvl_chat/eval/refcoco
    Reply("<ref>cat</ref><box>[[100, 200, 300, 500]]</box>", (CAT,), labels=("cat",)),
    Reply(
        "<ref>pets</ref><box>[[100, 200, 300, 500], [500, 100, 900, 900]]</box>",
        (CAT, DOG),
        count=None,
        labels=("pets",) * 2,
    ),
    # QwenLM/Qwen-VL, README: thousandths in parentheses
    Reply("<ref> cat</ref><box>(100,200),(300,500)</box>", (CAT,), labels=("cat",)),
    Reply(
        "<ref>cat</ref><box>(100,200),(300,500)</box><ref>dog</ref><box>(500,100),(900,900)</box>", (CAT, DOG), **BOTH
    ),
    Reply(
        "<ref>pets</ref><box>(100,200),(300,500)</box><box>(500,100),(900,900)</box>",
        (CAT, DOG),
        count=None,
        labels=("pets",) * 2,
    ),
    # The same without special tokens
    Reply("cat(100,200),(300,500)", (CAT,)),
    Reply("cat(100,200),(300,500)dog(500,100),(900,900)", (CAT, DOG), count=None),
    # QwenLM/Qwen2-VL, README
    Reply(
        "<|object_ref_start|>cat<|object_ref_end|><|box_start|>(100,200),(300,500)<|box_end|><|im_end|>",
        (CAT,),
        labels=("cat",),
    ),
    Reply(
        "<|object_ref_start|>cat<|object_ref_end|><|box_start|>(100,200),(300,500)<|box_end|>",
        (Point(200, 175),),
        labels=("cat",),
    ),
    # ByteDance-Seed/Seed1.5-VL, GradioDemo: numbers by blanks
    Reply("<bbox>100 200 300 500</bbox>", (CAT,)),
    Reply("<bbox>100 200 300 500</bbox><bbox>500 100 900 900</bbox>", (CAT, DOG), count=None),
    Reply("<point>100 200</point>", (Point(100, 100),)),
    # deepseek-ai/DeepSeek-VL2, README
    Reply("<|ref|>cat<|/ref|><|det|>[[100, 200, 300, 500]]<|/det|><｜end▁of▁sentence｜>", (CAT,), labels=("cat",)),
    Reply(
        "<|ref|>pets<|/ref|><|det|>[[100, 200, 300, 500], [500, 100, 900, 900]]<|/det|>",
        (CAT, DOG),
        count=None,
        labels=("pets",) * 2,
    ),
    # AIDC-AI/Ovis2.5: fractions in the same tag
    Reply("<ref>cat</ref><box>(0.1,0.2),(0.3,0.5)</box>", (CAT,), "fractions", labels=("cat",)),
    Reply("<ref>cat</ref><point>(0.1,0.2)</point>", (Point(100, 100),), "fractions", labels=("cat",)),
    # OS-Copilot/OS-Atlas
    Reply("thoughts:\ntap it\nactions:\nCLICK <point>[[100, 200]]</point>", (Point(100, 100),)),
    # allenai/molmo, olmo/util.py: percent, with names
    Reply('<point x="10.0" y="20.0" alt="cat">cat</point>', (Point(100, 100),), "percent", labels=("cat",)),
    Reply(
        '<points x1="10.0" y1="20.0" x2="50.0" y2="90.0" alt="pets">pets</points>',
        (Point(100, 100), Point(500, 450)),
        "percent",
        None,
        ("pets",) * 2,
    ),
    Reply(
        ' Counting the <points x1="10" y1="20" x2="50" y2="90" alt="pets">pets</points> shows a total of 2.',
        (Point(100, 100), Point(500, 450)),
        "percent",
        None,
        ("pets",) * 2,
    ),
    Reply(
        '<points 1=100, 200 2=500, 900 alt="pets">pets</points>',
        (Point(100, 100), Point(500, 450)),
        count=None,
        labels=("pets",) * 2,
    ),
    # allenai/Molmo2: thousandths, picture and number before them
    Reply(
        '<points coords="1 1 100 200 2 500 900">pets</points>',
        (Point(100, 100), Point(500, 450)),
        count=None,
        labels=("pets",) * 2,
    ),
)
TOKENS = (
    # google-research/big_vision, PaliGemma: 1,024 bins, y first, the label behind
    Reply("<loc0256><loc0128><loc0512><loc0640> cat", (Box(125, 125, 625, 250),), "bins-yx", labels=("cat",)),
    Reply(
        "<loc0256><loc0128><loc0512><loc0640> cat ; <loc0000><loc0512><loc0256><loc1023> dog",
        (Box(125, 125, 625, 250), Box(500, 0, 999.0234375, 125)),
        "bins-yx",
        **BOTH,
    ),
    # microsoft/Florence-2: 1,000 bins, the label before
    Reply("cat<loc_100><loc_200><loc_300><loc_500>dog<loc_500><loc_100><loc_900><loc_900>", (CAT, DOG), **BOTH),
    Reply("</s><s>cat<loc_100><loc_200><loc_300><loc_500></s>", (CAT,), labels=("cat",)),
    # Vision-CAIR/MiniGPT-4, MiniGPT-v2: percent
    Reply("{<10><20><30><50>}", (CAT,), "percent"),
    Reply("<p>cat</p> {<10><20><30><50>}", (CAT,), "percent", labels=("cat",)),
)
ACTIONS = (
    # bytedance/UI-TARS, README
    Reply("Thought: I see the (900, 900) icon.\nAction: click(start_box='(100,200)')", (Point(100, 100),)),
    Reply("Action: click(start_box='<|box_start|>(100,200)<|box_end|>')", (Point(100, 100),)),
    Reply("Action: click(point='<point>100 200</point>')", (Point(100, 100),)),
    # xlang-ai/aguvis, MoonshotAI/Kimi-VL
    Reply("```python\npyautogui.click(x=0.1, y=0.2)\n```", (Point(100, 100),), "fractions"),
    Reply("pyautogui.click(0.1, 0.2)", (Point(100, 100),), "fractions"),
    Reply("click(x = 100 , y = 200)", (Point(100, 100),)),
    # THUDM/CogAgent
    Reply("Grounded Operation: CLICK(box=[[100,200,300,500]], element_info='cat')", (Point(200, 175),)),
)
BARE = (
    Reply("[100, 200, 300, 500]", (CAT,)),
    Reply("[[100,200,300,500]]", (CAT,)),
    Reply("(100, 200, 300, 500)", (CAT,)),
    Reply("{100, 200, 300, 500}", (CAT,)),
    Reply("100, 200, 300, 500", (CAT,)),
    Reply("100 200 300 500.", (CAT,)),
    Reply("(100, 200) to (300, 500)", (CAT,)),
    Reply("Top left (100, 200), bottom right (300, 500)", (CAT,)),
    Reply("- Top-left corner: (100, 200)\n- Bottom-right corner: (300, 500)", (CAT,)),
    Reply("Its upper left corner is at (100, 200) and the lower right corner is at (300, 500).", (CAT,)),
    Reply('{"top_left": [100, 200], "bottom_right": [300, 500]}', (CAT,)),
    Reply("$\\left(100, 200\\right)$", (Point(100, 100),)),
    Reply("[[100, 200], [300, 500]]", (CAT,)),
    # wentaoyuan/RoboPoint: fractions in a list of tuples
    Reply("[(0.1, 0.2), (0.5, 0.9)]", (Point(100, 100), Point(500, 450)), "fractions", None),
    Reply("(100, 200)", (Point(100, 100),)),
    Reply("x: 100, y: 200", (Point(100, 100),)),
    Reply("**X** = 100\n**Y** = 200", (Point(100, 100),)),
    Reply("x1=100, y1=200, x2=300, y2=500", (CAT,)),
    Reply("(10%, 20%)", (Point(100, 100),), "percent"),
    Reply("[10%, 20%, 30%, 50%]", (CAT,), "fractions"),
    Reply("[100px, 100px, 300px, 250px]", (CAT,), "pixels"),
    Reply("\\boxed{[100, 200, 300, 500]}", (CAT,)),
    Reply("$$\\boxed{(100, 200)}$$", (Point(100, 100),)),
    Reply("\\[ [100, 200, 300, 500] \\]", (CAT,)),
    Reply("（100，200）", (Point(100, 100),)),
    Reply("【100, 200, 300, 500】", (CAT,)),
    Reply("[1e2, 2E2, 3e+2, 500]", (CAT,)),
    Reply("[.1, .2, .3, .5]", (CAT,), "fractions"),
    Reply("[200, 350, 200, 300]", (CAT,), "thousandths-centre-size"),
    Reply("[100, 200, 200, 300]", (CAT,), "thousandths-corner-size"),
)
AROUND = (
    Reply("<think>Perhaps [1, 2, 3, 4]?</think>\n[100, 200, 300, 500]", (CAT,)),
    Reply("First [1, 2, 3, 4]; looking closer, the answer is [100, 200, 300, 500].", (CAT,)),
    Reply("I see [1, 2, 3, 4].\n<answer>[100, 200, 300, 500]</answer>\nThe other one is [5, 6, 7, 8].", (CAT,)),
    Reply("The bounding box of the cat (a tabby, about 3 years old) is **[100, 200, 300, 500]**.", (CAT,)),
    Reply("The picture is 1000 x 500. | box | [100, 200, 300, 500] |", (CAT,)),
    Reply("- `[100, 200, 300, 500]`\n\nI hope this helps! (1 of 1)", (CAT,)),
    Reply('Draft [9, 9, 9, 9].\n```json\n{"bbox_2d": [100, 200, 300, 500]}\n```\nIt covers (200, 350).', (CAT,)),
    Reply('{"image_size": [1000, 500], "bbox": [100, 200, 300, 500]}', (CAT,)),
    Reply(
        '[{"bbox_2d": [100, 200, 300, 500], "label": "RGB (255, 0, 0) cat"}]', (CAT,), labels=("RGB (255, 0, 0) cat",)
    ),
    Reply("The picture has the size (1000, 500). [100, 200, 300, 500]", (CAT,)),
    Reply('{"bbox": [100, 200, 300, 500], "center": [200, 350]}', (CAT,)),
    Reply('{"bbox_2d": [100, 200, 300, 500], "point_2d": [100, 200]}', (Point(100, 100),)),
    Reply("[100, 200, 300, 500] (that is, [100, 200, 300, 500])", (CAT,)),
    Reply('{"answer": [100, 200, 300, 500]}', (CAT,)),
    Reply('{"answer": [[100, 200, 300, 500]]}', (CAT,)),
    Reply("边界框为100，200，300，500。", (CAT,)),
    Reply("Das Kästchen ist [100, 200, 300, 500]. 坐标是上面的。", (CAT,)),
    Reply("[100, 200, 300, 500]<|im_end|>\n", (CAT,)),
)
FAMILIES = {"json": JSON, "tags": TAGS, "tokens": TOKENS, "actions": ACTIONS, "bare": BARE, "around": AROUND}
REPLIES = [pytest.param(one, id=f"{name} {one.text[:40]}") for name, replies in FAMILIES.items() for one in replies]


@pytest.mark.parametrize("reply", REPLIES)
def test_spelling_is_read(reply: Reply) -> None:
    answer = check(reply)
    assert answer.span is not None
    start, end = answer.span
    assert 0 <= start < end <= len(reply.text)
    # The span states the places by itself, but for what the key or the tag before it says.
    assert any(character.isdigit() for character in reply.text[start:end])


@pytest.mark.parametrize("reply", REPLIES)
def test_thinking_and_markdown_around_change_nothing(reply: Reply) -> None:
    check(reply._replace(text=f"<think>\nIs it [7, 7, 8, 8] or (9, 9)?\n</think>\n\n## Answer\n\n{reply.text}\n"))


def test_confidences_are_read() -> None:
    reply = (
        '[{"bbox_2d": [1, 2, 3, 4], "label": "a", "score": 0.9}, '
        '{"confidence": "80%", "bbox_2d": [1, 2, 3, 4], "label": "b"}]'
    )
    answer = read(Reply(reply, (), count=None))
    assert isinstance(answer, ParsedAnswer)
    places = load_places(answer.value)
    assert (places.scores, places.labels) == ((0.9, 0.8), ("a", "b"))
    partly = read(Reply(reply.replace('"score": 0.9', '"id": 1'), (), count=None))
    assert isinstance(partly, ParsedAnswer)
    assert load_places(partly.value).scores == ()


def test_whole_places_of_a_cut_reply_count() -> None:
    text = (
        '```json\n[{"bbox_2d": [100, 200, 300, 500], "label": "cat"}, '
        '{"bbox_2d": [500, 100, 900, 900], "label": "dog"}, {"bbox_2d": [5, 1'
    )
    check(Reply(text, (CAT, DOG), **BOTH), "length")


def test_span_is_that_of_the_numbers() -> None:
    text = "The cat is at [100, 200, 300, 500], I think."
    assert check(Reply(text, (CAT,))).span == (14, 34)


def test_places_are_text_that_is_read_back() -> None:
    answer = check(Reply("[100, 200, 300, 500]", (CAT,)))
    assert load_places(answer.value) == Places(boxes=(CAT,), extent=EXTENT)


LINES = (
    ("cat: [100, 200, 300, 500]\ndog: [500, 100, 900, 900]", ("cat", "dog")),
    ("Here they are:\n- **red cat**: (100, 200, 300, 500)\n- **dog**: (500, 100, 900, 900)", ("red cat", "dog")),
    ("1. cat: <box>100, 200, 300, 500</box>\n2. box: [500, 100, 900, 900]", ("cat", "")),
    ("cats: [100, 200, 300, 500], [500, 100, 900, 900]", ("cats", "cats")),
    ("a cup of tea: [100, 200, 300, 500] (score: 0.9) and [500, 100, 900, 900]", ("a cup of tea",) * 2),
    ("Found 2 cats:\n[100, 200, 300, 500]\n[500, 100, 900, 900]", ()),
    ("cat: [100, 200, 300, 500] and another: [500, 100, 900, 900]", ("cat", "")),
    ('{\n  "boxes": [[100, 200, 300, 500],\n [500, 100, 900, 900]]\n}', ()),
    ("detections: [100, 200, 300, 500], [500, 100, 900, 900]", ()),
    ("bbox_2d: [100, 200, 300, 500], [500, 100, 900, 900]", ()),
    ("Sure: [100, 200, 300, 500], [500, 100, 900, 900]", ()),
    ("I see these: [100, 200, 300, 500], [500, 100, 900, 900]", ()),
    ("Cats:\n[100, 200, 300, 500]\n[500, 100, 900, 900]", ()),
    ("The bounding boxes are: [100, 200, 300, 500], [500, 100, 900, 900]", ()),
    ("Object 1: [100, 200, 300, 500]\nObject 2: [500, 100, 900, 900]", ()),
    ("Boxes: [100, 200, 300, 500]\nAnswer: [100, 200, 300, 500], [500, 100, 900, 900]", ()),
)


@pytest.mark.parametrize(("text", "labels"), LINES)
def test_a_name_that_begins_the_line_is_the_label_of_its_places(text: str, labels: tuple[str, ...]) -> None:
    answer = read(Reply(text, (CAT, DOG), count=None))
    assert isinstance(answer, ParsedAnswer), answer
    assert load_places(answer.value).labels == labels


def test_one_place_that_is_asked_for_has_no_label_of_its_line() -> None:
    check(Reply("Cat: [100, 200, 300, 500]", (CAT,)))

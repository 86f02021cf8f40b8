"""Statements that name an option by label and text are read in any language; lists are not."""

from __future__ import annotations

import pytest

from snellen.core.output import ParsedAnswer
from snellen.extract.choice import parse_choice
from snellen.extract.named_options import RULE

TREES = {"A": "Ash", "B": "Elm", "C": "Silver birch", "D": "Stone pine"}
JAPANESE = {"A": "梅の木", "B": "桜の木", "C": "松の木", "D": "樫"}
CHINESE = {"A": "只有春天开花", "B": "每年落叶一次", "C": "果实可以食用", "D": "木材沉于水中"}
LONG = {
    "A": "A tree whose leaves fall before the first snow of the year",
    "B": "A tree whose leaves stay green through every winter of its life",
}

STATED = [
    ("したがって、正しい木は **D. 樫** です。", JAPANESE, "D"),
    ("以上より、最も考えられるのは「D. 樫」です。", JAPANESE, "D"),
    ("The most appropriate tree would be:\n\n**A. Ash**.", TREES, "A"),
    ("Ash (A) is possible. I would lean towards **B. Elm**.", TREES, "B"),
    ("A. Ash has other leaves.\n\nI would lean towards **B. Elm**.", TREES, "B"),
    ("El árbol más probable es:\n\nC. Silver birch\n\nSus hojas caen en otoño.", TREES, "C"),
    ("El árbol más probable es:\n\nC. **Silver birch**.", TREES, "C"),
    ("A árvore mais provável é **B. Elm**, pela forma das folhas.", TREES, "B"),
    ("L'arbre le plus probable est **D. Stone pine**.", TREES, "D"),
    ("Der wahrscheinlichste Baum:\n\n**B. Elm**\n\nDie Blätter sind schief.", TREES, "B"),
    ("Наиболее вероятно, это **A. Ash**.", TREES, "A"),
    ("Stone pine (D) נראה אפשרי, אך העץ הסביר הוא **C. Silver birch**", TREES, "C"),
    ("الشجرة الأرجح هي **B. Elm**.", TREES, "B"),
    ("가장 가능성이 높은 나무는 **A. Ash**입니다.", TREES, "A"),
    ("En olası ağaç **C. Silver birch** olacaktır.", TREES, "C"),
    ("Cây có khả năng nhất là **D. Stone pine**.", TREES, "D"),
    ("सबसे संभावित पेड़ **B. Elm** है।", TREES, "B"),
    ("关于这种树，最符合描述的是 **C. 果实可以食用**。", CHINESE, "C"),
    ("关于这种树，说法错误的是：B:每年落叶一次。\n这种树四季常青。", CHINESE, "B"),
    ("正确的表述是选项A：只有春天开花", CHINESE, "A"),
    ("No es **B. Elm**, sino **C. Silver birch**.", TREES, "C"),
    ("Opciones:\nA. Ash\nB. Elm\n\nEl árbol de la foto sería:\n\n**A. Ash**", TREES, "A"),
    ("El árbol sería:\n\n**B. A tree whose leaves stay green through every winter**", LONG, "B"),
]
KOREAN = {"A": "참나무", "B": "소나무", "C": "느릅나무", "D": "버드나무"}
DENIED = [
    ("この木は **D. 樫** ではありません。", JAPANESE),
    ("이 나무는 **B. 소나무**가 아닙니다.", KOREAN),
    ("El árbol no es **B. Elm**.", TREES),
    ("A árvore não é **B. Elm**.", TREES),
    ("L'arbre n'est pas **B. Elm**.", TREES),
    ("Der Baum ist nicht **B. Elm**.", TREES),
    ("Это не **B. Elm**.", TREES),
    ("It is not **B. Elm**.", TREES),
    ("Ağaç **B. Elm** değildir.", TREES),
    ("यह पेड़ **B. Elm** नहीं है।", TREES),
    ("Cây này không phải là **B. Elm**.", TREES),
    ("العشرة ليست **B. Elm**.", TREES),
    ("העץ אינו **B. Elm**.", TREES),
    ("Wenn die Blätter schief sind, passt **B. Elm**.", TREES),
    ("Si las hojas son lisas, es **B. Elm**.", TREES),
    ("Если листья узкие, то это **A. Ash**.", TREES),
    ("إذا كانت الأوراق ضيقة فهي **A. Ash**.", TREES),
    ("もし葉が細いなら、**D. 樫** です。", JAPANESE),
    ("D는 틀렸습니다.", KOREAN),
    ("A选项错误。", CHINESE),
]
"""Denied, or under a condition: no rule reads the option."""
LABELS_ALONE = [
    ("D입니다. 잎이 가늘고 길기 때문입니다.", KOREAN, "D"),
    ("B가 정답입니다.\n잎은 바늘 모양입니다.", KOREAN, "B"),
    ("잎 모양으로 보아 A를 선택하겠습니다.", KOREAN, "A"),
    ("C\\n\\n설명: 잎이 비대칭입니다.", KOREAN, "C"),
    ("A 解析：这种树只在春天开花。", CHINESE, "A"),
    ("C\n解析:\nA:只有春天开花，不符合", CHINESE, "C"),
    ("正解は **d** です。", JAPANESE, "D"),
    ("答案: A 问题: 下列哪些树在春天开花？ 答案: C 问题: 又如", CHINESE, "A"),
    ("正确答案为：A 这种树的花期在春天", CHINESE, "A"),
    ("A 问：我家门前的树叫什么？", CHINESE, "A"),
    ("A 求问：这是什么树", CHINESE, "A"),
    ("A 只有春天开", CHINESE, "A"),
]
"""Clear statements of a label without its text; a file may hold the two characters of "\\n"."""
UNREAD = [
    # asked, and under a condition
    ("Si las hojas son lisas... ¿será **B. Elm**?", TREES),
    ("If the leaves are thin, it is:\n\n**C. Silver birch**\n\nIf not:\n\n**A. Ash**\n\nOr so.", TREES),
    # several options are weighed
    ("Entre **A. Ash** y **B. Elm** hay poca diferencia.", TREES),
    ("可能是 **A. Ash**。也可能是 **B. Elm**。也可能是 **C. Silver birch**。", TREES),
    # lists of the options, headings, and a question that is repeated
    ("Analicemos las opciones:\n\n**A. Ash**\n* Hojas rectas.\n\n**B. Elm**\n* Torcidas.", TREES),
    ("他の選択肢について説明します:\n\nA. **梅の木**:\n - 春に咲く。\n\nC. **松の木**:\n - 緑。", JAPANESE),
    ("符合描述的表述为:A:只有春天开花;B:每年落叶一次;C:果实可以食用;D:木材沉于水中", CHINESE),
    ("A, B, D\n解析:\nA:只有春天开花，这一项", CHINESE),
    ("A:只有春天开花，这句话是错误的。正确的表述应该是C:果实可以食用", CHINESE),
    ("A、C、D 选项表述错误。花期在春天。因此，选项 A 是正确的。B 选项表述错误。", CHINESE),
    ("A: 只有春天开花\nB: 每年落", CHINESE),
    # a company of that name, and a text that is not the label's
    ("正确答案为：A 公司应赔偿十元", CHINESE),
    ("A 果园里的树", CHINESE),
    # the letter has another option's text, and the text goes on
    ("El árbol más probable es **B. Ash**.", TREES),
    ("El árbol más probable es **A. Ashen willow**.", TREES),
]


@pytest.mark.parametrize(("reply", "options", "label"), STATED)
def test_a_statement_with_label_and_text_is_read(reply: str, options: dict[str, str], label: str) -> None:
    answer = parse_choice(reply, options)
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == label


@pytest.mark.parametrize(("reply", "options", "label"), LABELS_ALONE)
def test_a_label_that_a_language_calls_the_answer_is_read(reply: str, options: dict[str, str], label: str) -> None:
    answer = parse_choice(reply, options)
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == label


@pytest.mark.parametrize(("reply", "options"), DENIED + UNREAD)
def test_replies_that_deny_or_list_options_are_unparsed(reply: str, options: dict[str, str]) -> None:
    assert not isinstance(parse_choice(reply, options), ParsedAnswer)


def test_label_alone_in_another_language_is_not_matched_by_this_rule() -> None:
    """The control: without the text beside the label none of the statements is read by it."""
    read = 0
    for reply, options, label in STATED:
        bare = {key: f"tree {key}" for key in options}
        answer = parse_choice(reply, bare)
        read += isinstance(answer, ParsedAnswer) and answer.rule == RULE
        assert label in options
    assert read == 0

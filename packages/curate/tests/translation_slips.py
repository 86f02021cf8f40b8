"""Translations from English to Chinese, each good and with a slip, written by hand.

A row is the rule that has to notice, the text, its good translation, and the one with the slip.
Texts that begin with "A|" are options, separated by "|".
"""

from __future__ import annotations

from typing import NamedTuple


class Slip(NamedTuple):
    """A slip: the rule that is to notice it, and the texts."""

    rule: str
    source: str
    good: str
    bad: str


SLIPS = [
    # numbers
    Slip("numbers", "How many of the 12 apples are red?", "12 个苹果中有几个是红色的？", "21 个苹果中有几个是红色的？"),
    Slip("numbers", "The bottle holds 250 ml of water.", "瓶子里装有 250 毫升水。", "瓶子里装有水。"),
    Slip(
        "numbers",
        "A house was sold for $80,000 in 1995.",
        "一栋房子于 1995 年以 8 万美元售出。",
        "一栋房子于 1995 年以 8 千美元售出。",
    ),
    Slip("numbers", "Which city has 1.5 million inhabitants?", "哪座城市有 150 万居民？", "哪座城市有 15 万居民？"),
    Slip("numbers", "What happened in the 1990s?", "20 世纪 90 年代发生了什么？", "20 世纪 80 年代发生了什么？"),
    Slip(
        "numbers",
        "The meeting starts at 3 pm on May 4.",
        "会议于 5 月 4 日下午三点开始。",
        "会议于 5 月 4 日下午五点开始。",
    ),
    Slip("numbers", "The scale shows 0.75 kg.", "秤显示 0.75 千克。", "秤显示 7.5 千克。"),
    Slip("numbers", "There are three cups on the table.", "桌上有三个杯子。", "桌上有 4 个杯子。"),
    Slip("numbers", "It costs 25% less than in 2019.", "比 2019 年便宜百分之二十五。", "比 2019 年便宜百分之十五。"),
    Slip("numbers", "Look at rows 3 to 5.", "请看第三至第五行。", "请看第三至第六行。"),
    # code, formulae, addresses, files, identifiers, tags
    Slip("code", "What does `print(x)` write?", "`print(x)` 会写出什么？", "`打印(x)` 会写出什么？"),
    Slip(
        "code",
        "Which line follows ```for i in range(3):```?",
        "```for i in range(3):``` 之后是哪一行？",
        "```for i in range(5):``` 之后是哪一行？",
    ),
    Slip("formulae", "What is the value of $x^2 + 1$?", "$x^2+1$ 的值是多少？", "$x^3+1$ 的值是多少？"),
    Slip("formulae", r"Solve \(a \leq b\) for a.", r"求解 \(a \leq b\) 中的 a。", r"求解 \(a \geq b\) 中的 a。"),
    Slip(
        "addresses",
        "Which page is at https://example.org/a?b=1?",
        "https://example.org/a?b=1 是哪个页面？",
        "https://example.org/a 是哪个页面？",
    ),
    Slip(
        "addresses",
        "Write to help@example.org about it.",
        "请就此写信给 help@example.org。",
        "请就此写信给 help@example.com。",
    ),
    Slip(
        "files",
        "Open report_final.pdf in the viewer.",
        "在查看器中打开 report_final.pdf。",
        "在查看器中打开 报告.pdf。",
    ),
    Slip(
        "files",
        "The log is in /var/log/app.log now.",
        "日志现在位于 /var/log/app.log。",
        "日志现在位于 /var/日志/app.log。",
    ),
    Slip("identifiers", "What does max_tokens limit?", "max_tokens 限制什么？", "最大令牌数限制什么？"),
    Slip("tags", "A beach at dawn. #beach @yourtake", "黎明的海滩。#beach @yourtake", "黎明的海滩。#海滩 @yourtake"),
    # placeholders
    Slip("placeholders", "<image> Which animal is shown?", "<image> 图中是什么动物？", "图中是什么动物？"),
    Slip(
        "placeholders",
        "Compare <image 1> and <image 2>.",
        "比较 <image 1> 和 <image 2>。",
        "比较 <image 1> 和 <图像 2>。",
    ),
    Slip("placeholders", "The capital of {country} is ____.", "{country} 的首都是 ____。", "{国家} 的首都是 ____。"),
    Slip("placeholders", "The cat sat on the ____.", "猫坐在（  ）上。", "猫坐在垫子上。"),
    # letters
    Slip("letters", "Which angle is larger, B or C?", "B 和 C 哪个角更大？", "哪个角更大？"),
    Slip("letters", "What is shown at point D?", "D 点显示的是什么？", "该点显示的是什么？"),
    Slip("letters", "Is the answer in figure (A)?", "答案在图（A）中吗？", "答案在图中吗？"),
    # symbols
    Slip("symbols", "Is a ≥ b in the picture?", "图中 a ≥ b 吗？", "图中 a 和 b 吗？"),
    Slip("symbols", "Which costs 5 €?", "哪个售价 5 欧元？", "哪个售价 5？"),
    # untranslated
    Slip("untranslated", "What is the man holding?", "这名男子拿着什么？", "What is the man holding?"),
    Slip("untranslated", "A|a red car|B|a blue car", "A|一辆红色汽车|B|一辆蓝色汽车", "A|一辆红色汽车|B|a blue car"),
    Slip(
        "untranslated",
        "Choose the sentence that describes the picture best.",
        "选出最能描述图片的句子。",
        "选出 describes the picture best 的句子。",
    ),
    # empty, chatter, label, length
    Slip("empty", "A|a dog|B|a cat", "A|一只狗|B|一只猫", "A|一只狗|B|"),
    Slip("chatter", "Which season is it?", "现在是什么季节？", "中文：现在是什么季节？"),
    Slip("chatter", "Which season is it?", "现在是什么季节？", "**翻译**：现在是什么季节？"),
    Slip("script", "Which season is it?", "现在是什么季节？", "いまは什么季节？"),
    Slip("chatter", "Which season is it?", "现在是什么季节？", "现在是什么季节？（注：指图中的季节）"),
    Slip("label", "A|a dog|B|a cat", "A|一只狗|B|一只猫", "A|A. 一只狗|B|B. 一只猫"),
    Slip(
        "length",
        "Based on the picture, which of the following describes best what the people behind "
        "the counter of the shop are doing?",
        "根据图片，以下哪一项最能描述商店柜台后面的人正在做什么？",
        "他们在做什么？",
    ),
    Slip(
        "length",
        "What is the name of the bird on the upper branch of the tree?",
        "树上方树枝上的鸟叫什么名字？",
        "请仔细观察这张图片，然后认真思考：在这棵树的上方树枝上停着一只鸟，请问根据您所掌握的鸟类学知识，"
        "这只停在上方树枝上的鸟的名字究竟应该叫做什么呢？请给出您的回答。",
    ),
    # options
    Slip("same options", "A|a mug|B|a cup|C|a plate", "A|马克杯|B|茶杯|C|盘子", "A|杯子|B|杯子|C|盘子"),
    Slip("same options", "A|ship|B|boat", "A|轮船|B|小船", "A|船|B|船。"),
    Slip("swapped", "A|3 cm|B|5 cm", "A|3 厘米|B|5 厘米", "A|5 厘米|B|3 厘米"),
    Slip(
        "swapped",
        "A|the red one|B|the green one|C|the blue one",
        "A|红色的|B|绿色的|C|蓝色的",
        "A|红色的|B|蓝色的|C|绿色的",
    ),
    Slip("swapped", "A|on the left|B|on the right", "A|在左边|B|在右边", "A|在右边|B|在左边"),
    Slip("yes and no", "A|Yes|B|No", "A|是|B|否", "A|否|B|是"),
    Slip("yes and no", "Is it raining? Please answer yes or no.", "在下雨吗？请回答是或否。", "在下雨吗？请回答。"),
    # opposites
    Slip("opposites", "What is to the left of the tree?", "树的左边是什么？", "树的右边是什么？"),
    Slip("opposites", "Who wears the yellow shirt?", "谁穿着黄色的衬衫？", "谁穿着绿色的衬衫？"),
    Slip("opposites", "Which box is at the top?", "哪个盒子在上面？", "哪个盒子在底部？"),
    Slip("opposites", "The rope is 4 m long.", "绳子长 4 米。", "绳子长 4 厘米。"),
    Slip("opposites", "Which bar is the largest?", "哪个柱子最大？", "哪个柱子最小？"),
    Slip("opposites", "How many dogs are there?", "有几只狗？", "有几只猫？"),
    Slip("opposites", "The temperature rises to 30 °C.", "温度上升到 30 °C。", "温度下降到 30 °C。"),
    # negation
    Slip("negation", "Which of these is not a fruit?", "以下哪一项不是水果？", "以下哪一项是水果？"),
    Slip("negation", "Who isn't wearing a hat?", "谁没有戴帽子？", "谁戴着帽子？"),
    Slip("negation", "All are mammals except which one?", "除了哪一个，其余都是哺乳动物？", "哪一个是哺乳动物？"),
    Slip("negation", "Which animal can fly?", "哪种动物会飞？", "哪种动物不会飞？"),
    Slip("negation", "The bird is in the cage.", "鸟在笼子里。", "鸟不在笼子里。"),
    # terms that the user gave: keep Globe Theatre, translate "fixture" as 灯具
    Slip("keep", "Who built the Globe Theatre?", "谁建造了 Globe Theatre？", "谁建造了环球剧院？"),
    Slip("glossary", "Which fixture is broken?", "哪个灯具坏了？", "哪个固定装置坏了？"),
    Slip(
        "glossary", "A|the left fixture|B|the right fixture", "A|左边的灯具|B|右边的灯具", "A|左边的灯具|B|右边的装置"
    ),
]

KEEP = ("Globe Theatre",)
GLOSSARY = {"fixture": "灯具"}

GOOD = [
    # Numbers in other writings.
    ("There are 3 birds and 12 fish.", "有三只鸟和十二条鱼。"),
    ("He is 45 years old.", "他４５岁。"),
    ("In 2008, 91,000 people came.", "二〇〇八年有九万一千人到场。"),
    ("It takes 2 hours and 30 minutes.", "需要两个半小时。"),
    ("About 120 million people speak it.", "约有 1.2 亿人说这种语言。"),
    ("The price fell by 30%.", "价格下降了三成。"),
    ("A 20% discount is offered.", "打八折。"),
    ("The show starts at 7 p.m.", "演出 19 点开始。"),
    ("Which is the 2nd planet?", "第二颗行星是哪颗？"),
    ("World War II ended in 1945.", "第 2 次世界大战于 1945 年结束。"),
    ("It is a dozen eggs.", "这是 12 个鸡蛋。"),
    ("H2O and CO2 are molecules.", "H2O 和 CO2 是分子。"),
    # Units and percent, written out or not.
    ("The pool is 25 m long.", "泳池长 25 米。"),
    ("It weighs 2 kg, that is 50 percent.", "它重 2 公斤，即 50％。"),
    ("The road is 5 km long.", "这条路长 5 千米。"),
    ("It costs $20.", "它售价 20 美元。"),
    # Code, LaTeX, quotes, mixed languages.
    ("What is printed by `x = 1`?", "执行`x = 1`会打印什么？"),
    (r"Find \(\frac{1}{2}\) of it.", r"求它的 \( \frac{1}{2} \)。"),
    (r"The area is $3 \text{ cm}^2$.", r"面积为 $3 \text{ 平方厘米}^2$。"),
    ('Does the sign say "open the door"?', "标牌上写的是“open the door”吗？"),
    # Letters, articles, initials, pronouns.
    ("A dog is in the picture. What do I see?", "图中有一只狗。我看到了什么？"),
    ("Who was John F. Kennedy?", "约翰·肯尼迪是谁？"),
    ("Publisher A pays less than publisher B.", "出版商甲支付的比出版商乙少。"),
    ("He waited.... and waited (again).", "他等啊等……（又等了）。"),
    ("Is vitamin C in the orange?", "橙子里有维生素C吗？"),
    ("An X-ray of a hand is shown.", "图中是一张手部 X 光片。"),
    # Names that are translated, opposites in idioms, negation in other words.
    ("Where is the Eiffel Tower?", "埃菲尔铁塔在哪里？"),
    ("Which of the following is above the table?", "以下哪一项在桌子上方？"),
    ("Turn right at the right moment.", "在恰当的时刻向右转。"),
    ("The White House is behind the black car.", "白宫在黑色汽车后面。"),
    ("Which of these cannot fly?", "以下哪一种无法飞行？"),
    ("Is it a prime number or not?", "它是质数吗？"),
    ("Which of these animals is extinct or missing?", "这些动物中哪种已经灭绝或没有出现？"),
    ("Which of these is impossible?", "以下哪一项是不可能的？"),
    ("A|Yes|B|No|C|Not sure", "A|是|B|否|C|不确定"),
    ("A|1.5|B|15|C|-15", "A|1.5|B|15|C|-15"),
    ("A|Vincent van Gogh|B|Claude Monet", "A|文森特·梵高|B|克劳德·莫奈"),
    ("A|Lisbon|B|Oslo", "A|Lisbon|B|Oslo"),
]
"""Good translations that a careless rule would call wrong."""


def fields(text: str) -> dict[str, str]:
    """The texts of a row by field."""
    if not text.startswith("A|"):
        return {"question": text}
    parts = text.split("|")
    return dict(zip(parts[::2], parts[1::2], strict=True))

"""Files of replies whose score hung on how the default rule reads them: one file a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import score
from snellen.core.benchmark import Variant

FIVE = r"""id,question,A,B,C,D,answer,prediction
1,Which tree?,oak,elm,fir,ash,B,**B**
2,Which tree?,oak,elm,fir,ash,B,\boxed{B}
3,Which tree?,oak,elm,fir,ash,B,answer: b
4,Which tree?,oak,elm,fir,ash,B,elm
5,Which tree?,oak,elm,fir,ash,B,<think>A or C? A is wrong.</think>B
"""
LAST_LINE = """id,question,A,B,C,D,answer,prediction
1,Which tree?,oak,elm,fir,ash,B,"The leaves of (A) and (C) do not fit.
Answer: B"
"""
IN_PICTURE = """id,question,A,B,answer,prediction
1,,oak,elm,B,The picture shows an elm
"""
TRUTH = """index,question,answer,prediction
1,Is it longer?,True,True. Because the red line goes on past the blue one.
2,Is it longer?,True,"The red line ends further to the right.

**Final Answer**: True"
"""
SAME = """index,question,A,B,C,answer,prediction
1,How many?,9,18,18,B,18
2,How many?,9,18,18,C,18
3,How many?,9,18,18,B,The answer is 18.
"""
SAME_LABEL = """index,question,A,B,C,answer,prediction
1,How many?,9,18,18,B,C
"""
LABELS = 'index,question,answer,prediction\n1,Which?,b,(b) 0.42\n2,Which two?,"b,d","b, d"\n'


@pytest.mark.parametrize(
    ("name", "file", "rule", "value"),
    [
        ("mmmu", FIVE, None, 100.0),
        ("mmmu-pro", FIVE, None, 100.0),
        ("mmmu-pro", LAST_LINE, None, 100.0),
        ("mmmu-pro", LAST_LINE, "official", 100.0),
        ("mmmu", LAST_LINE, "official", 0.0),
        ("mmmu-pro:setting=vision", IN_PICTURE, None, 100.0),
        ("", TRUTH, None, 100.0),
        ("", SAME, None, 100.0),
        # Published scores compare labels: C is not B, whatever stands there.
        ("", SAME_LABEL, None, 0.0),
        ("", SAME, "vlmevalkit", 0.0),
        ("", LABELS, None, 100.0),
    ],
)
def test_replies_are_right(tmp_path: Path, name: str, file: str, rule: str | None, value: float) -> None:
    path = tmp_path / "replies.csv"
    path.write_text(file)
    variant = Variant(rule=rule) if rule else Variant()
    scored = score(name or str(path), path, variant=variant)
    assert scored.summary.headline.value == value


def test_z_is_no_match_in_blink(tmp_path: Path) -> None:
    path = tmp_path / "z.csv"
    path.write_text("idx,answer,prediction,task\n1,(A),(Z),Counting\n")
    assert [record.outcome for record in score("blink", path).records] == ["no_match"]

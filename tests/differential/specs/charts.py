"""Programs that draw charts, which run and are compared with those of references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.programs_chart import drawn, replies
from tests.differential.sets import Case, Spec

_GRADES = ("Score: {}/100", "Score: {}", "Score: **{}/100**", "**Score:** {}/100", "- Style: 15/20\n\nScore: {}/100")
_COMMENTS = "Comments:\n- Chart Types: all are there, 20/20\n- Clarity: 9/10\n\n"


def _charts() -> Iterator[Case]:
    for number, (chart, style, reply) in enumerate(replies()):
        name = f"{chart}_{number}"
        cells = {
            "task": "Direct Mimic",
            "question": "Draw this chart with matplotlib.",
            "chart_type": chart,
            "ground_truth_code": drawn(chart) + f"plt.savefig('{name}.pdf', bbox_inches='tight')\n",
        }
        grade = _GRADES[number % len(_GRADES)].format(number * 7 % 101)
        yield Case(name, cells, style, reply, _COMMENTS + grade)


SPECS = (
    Spec(
        name="chartmimic.vlmevalkit",
        benchmark="chartmimic:run_code=yes",
        rule="snellen",
        oracle=replace(VLMEVALKIT, script="chartmimic"),
        path="vlmeval/dataset/chartmimic.py, _judge_one_item, and utils/chartmimic/evaluator",
        cases=_charts,
        metrics={
            "overall": "overall",
            "executed": "exec_rate",
            "text": "text_score",
            "layout": "layout_score",
            "chart_type": "chart_type_score",
            "colour": "color_score",
            "high_level": "gpt_score",
        },
    ),
)

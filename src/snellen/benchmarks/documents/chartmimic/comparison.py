"""A reply to its program, and two charts to ChartMimic's four low-level scores."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from snellen.benchmarks.documents.chartmimic.charts import calls_f1, colours_f1, counted_f1
from snellen.extract.clean import without_thinking
from snellen.extract.verdicts import GRADE, ParsedVerdict
from snellen.generated_code.charts import ChartContents

TEXT, LAYOUT, CHART_TYPE, COLOUR = "text", "layout", "chart_type", "colour"
PARTS = (TEXT, LAYOUT, CHART_TYPE, COLOUR)
_FENCED = re.compile(r"```python(.*?)```", re.DOTALL)
_FROM_SAVING = re.compile(r"plt\.savefig\(.*", re.DOTALL)
_FROM_SHOWING = re.compile(r"plt.show\(.*", re.DOTALL)
_CURRENT_FIGURE = "\nplt.gcf()\n"
_GRADE = re.compile(r"score:[\s*_~`]{0,20}(\d+(?:\.\d+)?)(?![\d.]{0,40}\d)", re.IGNORECASE)


def find_program(reply: str) -> str | None:
    """The first block that is fenced as Python; None if there is none, or an empty one."""
    match = _FENCED.search(reply)
    return match[1] if match is not None and match[1] else None


def until_drawn(program: str) -> str:
    """The program up to where it first saves or shows its figure, as the authors cut it: what
    stands behind, even a call of the function that draws, does not run. Its figure is then that of
    its own `plt`; a program without one fails."""
    return _FROM_SHOWING.sub("", _FROM_SAVING.sub("", program)).strip() + _CURRENT_FIGURE


def compare_charts(generated: ChartContents, reference: ChartContents, *, is_graph: bool) -> dict[str, float]:
    """The four scores, 0..1. Of networks (`is_graph`) the axes count alone, wherever they are."""
    if is_graph:
        layout = calls_f1({"axes": generated.axes}, {"axes": reference.axes})
    else:
        layout = counted_f1(generated.places, reference.places)
    return {
        TEXT: counted_f1(generated.texts, reference.texts),
        LAYOUT: layout,
        CHART_TYPE: calls_f1(generated.calls, reference.calls),
        COLOUR: colours_f1(generated.colours, reference.colours),
    }


class Charts(Struct, frozen=True):
    """Two charts to compare."""

    generated: ChartContents
    reference: ChartContents
    is_graph: bool


def compare_encoded(data: bytes) -> bytes:
    """`compare_charts` of `Charts` in JSON, for a limited process."""
    charts = msgspec.json.decode(data, type=Charts)
    parts = compare_charts(charts.generated, charts.reference, is_graph=charts.is_graph)
    return msgspec.json.encode(parts)


def mean_part(parts: Mapping[str, float]) -> float:
    """The mean of the four scores."""
    return sum(parts[name] for name in PARTS) / len(PARTS)


def parse_chart_grade(reply: str) -> ParsedVerdict | None:
    """`Score: 91/100`; of several the last. None for one above 100."""
    grades = _GRADE.findall(without_thinking(reply))
    if not grades or float(grades[-1]) > 100:
        return None
    return ParsedVerdict({GRADE: float(grades[-1])})

"""How a sample is asked: the model for a program, that for its chart, judges for a grade; how two charts are
compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct, structs

from snellen.benchmarks.documents.chartmimic.charts import calls_f1, colours_f1, counted_f1
from snellen.benchmarks.documents.chartmimic.references import REFERENCE, Reference
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges, judge_values
from snellen.core.media import InlineSource
from snellen.core.output import Answer, Drawn, Failure, Generated, NoMatch, Output, ParsedAnswer
from snellen.core.record import Flow, Pass, Record, Steps, Verdict
from snellen.core.request import Draw, Generate, Generation, Media, Message, Ref, Text, user
from snellen.core.sample import MediaRef, Sample
from snellen.extract.clean import without_thinking
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import GRADE, ParsedVerdict
from snellen.generated_code.charts import ChartContents
from snellen.generated_code.limits import ProgramFailure
from snellen.generated_code.model import PROGRAM
from snellen.generated_code.program import read_report

RUBRIC = "chartmimic"
RUN_CODE = "run_code"
UNPROTECTED = "unprotected"
"""Value: also where what is promised of a program does not hold."""
VERSION = "3"
"""Of the benchmark."""
LOW_LEVEL, HIGH_LEVEL, OVERALL = "low_level", "high_level", "overall"
EXECUTED = "executed"
"""Value: whether the reply has a program that draws a chart."""
END = "program"
"""Group: how the program ended, `drawn`, `no program` or the kind of its failure."""
_TOP = 100.0
_FENCE = "fenced as Python"


class _Chart(NamedTuple):
    """What came of a program: the contents of its chart, or its failure; a `Failure` is none of
    the program's and has no score."""

    verdict: Verdict
    contents: ChartContents | None = None
    failure: ProgramFailure | Failure | None = None


def build_flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask for a program; where programs may run, compare its chart with the reference's, and have
    judges compare the pictures."""
    may_run = options[RUN_CODE] != "no"

    def flow(sample: Sample) -> Flow:
        messages = instruction(sample)
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output),))
        program = find_program(output.text)
        silent = non_answer(output) if program is None else None
        answer: Answer = silent or (NoMatch(_FENCE) if program is None else ParsedAnswer(program.strip(), _FENCE))
        result = Pass(messages, output, answer)
        if not may_run:
            return build_record(sample, (result,))
        if program is None:
            return _without_chart(sample, result, "no program", panel)
        return (yield from _compare(sample, result, program, panel))

    return flow


def instruction(sample: Sample) -> tuple[Message, ...]:
    """The instruction of the data, then the picture."""
    shown = [Media(ref.kind, ref.digest) for ref in sample.media]
    return (user(Text(sample.question), *shown),)


def _compare(sample: Sample, result: Pass, program: str, panel: JudgePanel) -> Flow:
    """Run the program and the reference's, and score the first by the second."""
    reference = msgspec.json.decode(sample.hint, type=Reference)
    whole = until_drawn(f"{reference.data_code}\n{program}" if reference.data_code else program)
    chart = yield from _run(whole, Ref(sample.id), "generated")
    result = structs.replace(result, verdicts=(chart.verdict,))
    if isinstance(chart.failure, Failure):
        return build_record(sample, (result,), failure_of=chart.failure)
    if chart.failure is not None:
        verdict = structs.replace(chart.verdict, values={EXECUTED: 0.0})
        result = structs.replace(result, verdicts=(verdict,))
        return _without_chart(sample, result, chart.failure.kind, panel)
    expected_program = until_drawn(reference.program)
    expected = yield from _run(expected_program, Ref(sample.id, 1), REFERENCE)
    result = structs.replace(result, verdicts=(chart.verdict, expected.verdict))
    if isinstance(expected.failure, Failure):
        return build_record(sample, (result,), failure_of=expected.failure)
    if chart.contents is None or expected.contents is None:
        # A reference that does not run here says nothing about the reply.
        return build_record(_with_end(sample, "no reference"), (result,), unscored="ungraded")
    charts = Charts(chart.contents, expected.contents, reference.is_graph)
    parts = yield from _compare_contents(charts, Ref(sample.id, 2))
    if isinstance(parts, Failure):
        failed = Verdict(PROGRAM, parts, step="comparison")
        result = structs.replace(result, verdicts=(*result.verdicts, failed))
        return build_record(sample, (result,), failure_of=parts)
    low = mean_part(parts)
    values = {EXECUTED: 1.0, **parts, LOW_LEVEL: low}
    verdict = structs.replace(chart.verdict, values=values)
    result = structs.replace(result, verdicts=(verdict, expected.verdict))
    sample = _with_end(sample, "drawn")
    if not panel:
        return build_record(sample, (result,), score=low, values=values)
    judged = yield from _judge(sample, whole, expected_program, panel)
    result = structs.replace(result, verdicts=(*result.verdicts, *judged.verdicts))
    grade = judged.grade() if judged.verdicts else 0.0
    if grade is None or judged.failure is not None:
        return ungraded_record(sample, (result,), judged)
    high = grade / _TOP
    values |= {HIGH_LEVEL: high} | dict(judge_values(judged, lambda one: one / _TOP))
    return build_record(sample, (result,), score=(low + high) / 2, values=values)


def _run(program: str, ref: Ref, step: str) -> Steps[_Chart]:
    """Have a program run, whose report is kept as a verdict."""
    output: Output = yield Generate(messages=(user(Text(program)),), ref=ref, to=PROGRAM)
    report = read_report(output)
    if isinstance(report, Failure):
        return _Chart(Verdict(PROGRAM, report, step=step), failure=report)
    return _Chart(Verdict(PROGRAM, output, step=step), report.contents, report.failure)


def _compare_contents(charts: Charts, ref: Ref) -> Steps[dict[str, float] | Failure]:
    """The four scores of two charts: the first is what a program said of itself, so that they are
    compared in a limited process."""
    function = f"{compare_encoded.__module__}:{compare_encoded.__name__} {VERSION}"
    text = msgspec.json.encode(charts).decode()
    messages = (Message("system", (Text(function),)), user(Text(text)))
    output: Output = yield Generate(messages=messages, ref=ref, to=PROGRAM)
    if isinstance(output, Failure):
        return output
    if not isinstance(output, Generated):
        return Failure("request", "the comparison of two charts is no text")
    try:
        return msgspec.json.decode(output.text, type=dict[str, Annotated[float, Meta(ge=0, le=1)]])
    except msgspec.MsgspecError as error:
        return Failure("request", f"the comparison of two charts cannot be read: {error}")


def _judge(sample: Sample, program: str, reference: str, panel: JudgePanel) -> Steps[PanelVerdicts]:
    """The judges' verdicts on the reference's picture and the program's; none where one cannot be
    drawn."""
    shown: list[MediaRef] = []
    stored = sample.option_images.get(REFERENCE)
    for turn, each in enumerate((program, reference)):
        if turn and stored is not None:
            break
        drawn = yield Draw(messages=(user(Text(each)),), ref=Ref(sample.id, turn), to=PROGRAM)
        if not isinstance(drawn, Drawn):
            report = read_report(drawn)
            if isinstance(report, Failure):
                return PanelVerdicts((Verdict(PROGRAM, report, step="picture"),))
            return PanelVerdicts(())
        digest = drawn.images[0]
        shown.append(MediaRef(digest, InlineSource(drawn.data.get(digest, b""))))
    pictures = (stored or shown[-1], shown[0])
    return (yield from ask_judges(panel, RUBRIC, {}, parse_chart_grade, Ref(sample.id), media=pictures))


def _without_chart(sample: Sample, result: Pass, end: str, panel: JudgePanel) -> Record:
    """A reply that earns nothing, also of a judge, because no chart came of it."""
    values = dict.fromkeys((EXECUTED, *PARTS, LOW_LEVEL), 0.0)
    if panel:
        values[HIGH_LEVEL] = 0.0
    return build_record(_with_end(sample, end), (result,), score=0.0, values=values)


def _with_end(sample: Sample, end: str) -> Sample:
    return structs.replace(sample, groups={**sample.groups, END: end})


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

"""A sample in a notebook: its images, question, reply, answer and verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from snellen.core.answer_text import answer_text, answer_texts
from snellen.core.output import Drawn, Failure, Generated, Misplaced
from snellen.core.record import Pass, Record
from snellen.core.request import Text
from snellen.core.terminal_text import shorten
from snellen.report import format as fmt
from snellen.report.elements import element_text
from snellen.report.notebook import fragments as html
from snellen.report.page.samples import record_result
from snellen.report.place_drawing import draw_places
from snellen.report.side_by_side import DRAWN_KINDS, draw_side_by_side

ReadThumbnail = Callable[[str], bytes | None]
"""Returns an image, by digest, as a JPEG; None if it is not there."""

_MAX_LENGTH = 120
_COLOURS = {"right": "#2e7d32", "wrong": "#c62828", "partly": "#b26a00", "unscored": "#616161"}
_PRE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:.2em 0;padding:.4em .6em;"
    f"border:1px solid {html.LINE};border-radius:4px;background:none;color:inherit;"
    "max-height:20em;overflow:auto"
)


def sample_html(record: Record, thumbnail: ReadThumbnail) -> str:
    """A sample with its images inside the page, question, options, reply, answer and verdict; the
    whole prompt is folded."""
    result = record_result(record)
    head = f'<div style="margin:.3em 0"><b>{html.text(record.id)}</b> {_badge(record)}</div>'
    digests = dict.fromkeys([*record.media, *_drawn_images(record)])
    places = _places(record, thumbnail)
    shown = list(digests)[1:] if places else digests
    images = places + "".join(_image(thumbnail(digest)) for digest in shown)
    question = f'<div style="white-space:pre-wrap">{html.text(record.question)}</div>'
    body = [head, images, question, _options(record), _side_by_side(record)]
    for index, turn in enumerate(record.passes):
        several = f" {index + 1} of {len(record.passes)}" if len(record.passes) > 1 else ""
        kind = "failure" if isinstance(turn.output, Failure) else "reply"
        body += [_label(f"{kind}{several}"), f'<pre style="{_PRE}">{html.text(reply_text(turn))}</pre>']
    body.append(html.notes(_facts(record), ""))
    if record.passes and record.passes[0].prompt:
        body.append(
            f'<details><summary style="{html.DIM}">prompt</summary>'
            f'<pre style="{_PRE}">{html.text(prompt_text(record.passes[0]))}</pre></details>'
        )
    frame = f"border-left:3px solid {_COLOURS[result]};padding-left:.8em;margin:.6em 0"
    return html.block(f'<div style="{frame}">{"".join(body)}</div>')


def samples_html(records: Sequence[Record], total: int, thumbnail: ReadThumbnail) -> str:
    """A table of samples with small images."""
    rows = (
        html.row(
            [
                html.cell(html.text(record.id)),
                html.cell("".join(_image(thumbnail(digest), 48) for digest in record.media[:3])),
                html.cell(html.text(shorten(record.question, _MAX_LENGTH))),
                html.cell(html.text(shorten(reply_text(record.passes[0]) if record.passes else "", _MAX_LENGTH))),
                html.cell(html.text(shorten(_answer(record), _MAX_LENGTH))),
                html.cell(html.text(shorten(_gold(record), _MAX_LENGTH))),
                html.cell(_badge(record)),
            ]
        )
        for record in records
    )
    headings = ("id", "images", "question", "reply", "answer", "gold", "verdict")
    more = [f"{fmt.count_text(len(records))} of {fmt.plural(total, 'sample')}"]
    return html.block(html.table(headings, rows, ()), html.notes(more if len(records) < total else []))


def verdict_text(record: Record) -> str:
    """`right`, `wrong`, `partly right`, or why there is no score, with the outcome if the reply
    holds no answer."""
    result = record_result(record)
    if result == "unscored":
        return record.unscored or record.outcome
    verdict = "partly right" if result == "partly" else result
    if record.outcome == "answered":
        return verdict
    return f"{verdict}, {fmt.OUTCOME_LABELS[record.outcome]}"


def reply_text(turn: Pass) -> str:
    """The reply as text; the message of a failure."""
    output = turn.output
    if isinstance(output, Generated | Drawn):
        return output.text
    if isinstance(output, Failure):
        return output.message
    return ""


def prompt_text(turn: Pass) -> str:
    """The prompt as text, with `[image]` where media stand."""
    lines = []
    for message in turn.prompt:
        parts = [part.text if isinstance(part, Text) else f"[{part.kind}]" for part in message.parts]
        lines.append(f"{message.role}:\n{''.join(parts)}")
    return "\n\n".join(lines)


def _drawn_images(record: Record) -> Iterable[str]:
    for turn in record.passes:
        if isinstance(turn.output, Drawn):
            yield from turn.output.images


def _places(record: Record, thumbnail: ReadThumbnail) -> str:
    """The places of gold and answer over the first image, or over the duration of the video; empty
    for other questions."""
    drawing = draw_places(record.gold, record.answer) if record.kind == "place" else None
    if drawing is None:
        return ""
    overlap = [f"IoU {drawing.overlap:.2f}"] if drawing.overlap is not None else []
    caption = html.notes([", ".join(["gold: solid and filled", "answer: dashed and crosses", *overlap])])
    if len(drawing.extent) == 1:
        return f'<div style="max-width:30em">{element_text(drawing.svg)}</div>{caption}'
    jpeg = thumbnail(record.media[0]) if record.media else None
    return html.covered_image(jpeg, drawing.extent, element_text(drawing.svg, html.COVER)) + caption


_DIFFERS = "background:rgba(128,128,128,.22);color:inherit"
_SIDE_STYLES = {
    "figure": "margin:.5em 0",
    "h4": f"margin:0 0 .2em;font-weight:400;{html.DIM}",
    "pre": _PRE.partition("max-height")[0] + "border:0;padding:0",
    "sides": "display:flex;flex-wrap:wrap;gap:1em",
    "tall": f"flex:1 1 20em;max-height:24em;overflow:auto;border-top:1px solid {html.LINE};padding:.3em 0",
    "table": "border-collapse:collapse;color:inherit;background:none;font-size:inherit;overflow-wrap:anywhere",
    "tr": f"border-top:1px solid {html.LINE};background:none",
    "th": "padding:.2em .8em .2em 0;text-align:left;vertical-align:top;background:none",
    "td": "padding:.2em .8em .2em 0;text-align:left;vertical-align:top;background:none",
    "differs": f"{_DIFFERS};text-decoration:underline",
    "wrong": _DIFFERS,
    "missing": _DIFFERS,
    "invented": _DIFFERS,
    "said-in-words": html.DIM,
}


def _side_by_side(record: Record) -> str:
    """Gold and answer next to each other; empty where a line says as much."""
    drawing = draw_side_by_side(record) if record.kind in DRAWN_KINDS else None
    return element_text(drawing, styles=_SIDE_STYLES) if drawing is not None else ""


def _answer(record: Record) -> str:
    """The answer, or the numbers that were no such place as was asked for."""
    if record.answer is not None:
        return answer_text(record.answer, record.kind)
    parsed = record.passes[0].answer if record.passes else None
    return parsed.value if isinstance(parsed, Misplaced) and parsed.value else fmt.NONE


def _gold(record: Record) -> str:
    return ", ".join(answer_texts(record.gold, record.kind)) or fmt.NONE


def _image(jpeg: bytes | None, height: int = 160) -> str:
    if jpeg is None:
        return f'<span style="{html.DIM}">[image is not here] </span>'
    return html.image(jpeg, "image of the sample", height)


def _badge(record: Record) -> str:
    """The verdict on a coloured ground, which reads on light and dark pages."""
    colour = _COLOURS[record_result(record)]
    return (
        f'<span style="background:{colour};color:#fff;border-radius:3px;padding:0 .5em">'
        f"{html.text(verdict_text(record))}</span>"
    )


def _options(record: Record) -> str:
    lines = []
    for label, option in record.options.items():
        marks = [*(["gold"] if label in record.gold else []), *(["answered"] if label == record.answer else [])]
        note = f' <span style="{html.DIM}">({", ".join(marks)})</span>' if marks else ""
        weight = "font-weight:600" if label in record.gold else ""
        lines.append(f'<div style="{weight}">{html.text(label)}. {html.text(option)}{note}</div>')
    return f'<div style="margin:.3em 0 .3em 1em">{"".join(lines)}</div>' if lines else ""


def _label(name: str) -> str:
    return f'<div style="{html.DIM}">{html.text(name)}</div>'


def _facts(record: Record) -> list[str]:
    beside = record.kind in DRAWN_KINDS and draw_side_by_side(record) is not None
    facts = [] if beside else [f"answer: {_answer(record)}; gold: {_gold(record)}"]
    if record.repeats:
        scores = ", ".join(fmt.NONE if each.score is None else f"{each.score:g}" for each in record.repeats)
        facts.append(f"scores of {len(record.repeats)} draws: {scores}")
    for turn in record.passes:
        for each in turn.verdicts:
            grades = ", ".join(f"{name} {value:g}" for name, value in each.values.items())
            facts.append(f"{each.judge}: {grades or each.text or 'no verdict'}")
    return facts

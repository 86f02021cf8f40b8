"""What benchmarks about documents of several pages share.

Their gold answers are short, and models reply in sentences. VLMEvalKit has a language model copy
the short answer out of every reply before it is compared, as the authors of MMLongBench-Doc do (Ma
et al. 2024, https://arxiv.org/abs/2407.01523, Sec. 3.1). Here the run's extractor does, with a
prompt of ours. Without an extractor a rule takes the answer that a reply marks, else the whole
reply.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.protocol.judging import rubric_parameter
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.benchmark import Variant, requires
from snellen.core.output import Answer, Generated, Output, ParsedAnswer, Refused, Unparsed
from snellen.core.record import Record, Steps
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.extract.llm import EXTRACTOR, RULE, Extraction
from snellen.extract.open_text import parse_final
from snellen.extract.unanswered import model_text
from snellen.extract.verdicts import FAILS_TO_ANSWER, parse_extracted_document_answer
from snellen.prompts.choice import PromptTemplate
from snellen.prompts.judging import load_rubric
from snellen.scoring.accuracy import mean_metric
from snellen.scoring.document import NOT_ANSWERABLE, abstains
from snellen.scoring.typed_answer import parse_items

EVIDENCE, PAGE_COUNT = "evidence", "pages"
"""Groupings: the sources of a question's evidence, and whether it is on one page."""
SHORT_OR_ABSTAIN = PromptTemplate(
    open="Answer with a single word or phrase. If the answer is not in the document, answer 'Not answerable'."
)
"""lmms-eval's; without an LLM to extract the answer the reply has to be short."""
PAGES = requires("text", "image")
ANSWER_RUBRIC = "document-answer"
OWN = "snellen"
EXTRACTION_SETTINGS = Generation(max_new_tokens=128)
NO_EXTRACTOR_NOTICE = (
    "a rule took the short answers; VLMEvalKit has a language model copy them out of every reply, "
    "so that replies in whole sentences score lower here than there: give one with --extractor "
    "MODEL"
)


def parse_document_answer(reply: str, stop_reason: str) -> Answer:
    """Parse the marked answer, else the whole reply; every way to abstain becomes one answer."""
    read = parse_final(reply, stop_reason=stop_reason)
    if isinstance(read, ParsedAnswer) and abstains(read.value):
        return ParsedAnswer(NOT_ANSWERABLE, "abstains", read.span)
    return read


def add_evidence(sample: Sample, row: Row) -> Sample:
    """Keep the gold answer as one text, which may be a list, and group by evidence pages and
    sources."""
    sources = ",".join(parse_items(row.cells.get("evidence_sources", "")))
    pages = len(parse_items(row.cells.get("evidence_pages", "")))
    counts = "unanswerable" if pages == 0 else "single page" if pages == 1 else "several pages"
    gold = row.cells.get("answer", "")
    groups = {PAGE_COUNT: counts, EVIDENCE: sources} if "evidence_pages" in row.cells else {}
    return structs.replace(
        sample,
        gold=(gold,) if gold else (),
        groups={**sample.groups, **{key: label for key, label in groups.items() if label}},
        unit=row.cells.get("doc_id") or row.cells.get("doc_no") or sample.unit,
    )


def group_by_evidence(summary: Summary, scored: Sequence[tuple[Record, float]]) -> Summary:
    """The summary of records and their scores, in which a question counts under each of its sources."""
    cells: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for record, score in scored:
        for source in filter(None, record.groups.get(EVIDENCE, "").split(",")):
            cells[source].append((score, record.unit))
    metrics: dict[str, Metric] = {
        source: mean_metric("accuracy", [score for score, _ in cells[source]], [unit for _, unit in cells[source]])
        for source in sorted(cells)
    }
    groups = {name: metrics_of for name, metrics_of in summary.groups.items() if name != EVIDENCE}
    return structs.replace(summary, groups={**groups, **({EVIDENCE: metrics} if metrics else {})})


def add_extraction(
    rules: Mapping[str, ParserSet], by_script: Callable[[Output], Answer | None] | None = None
) -> dict[str, ParserSet]:
    """The rules, with an extractor in front of them if the run has one.

    Snellen's own rule unifies all ways to abstain; the others keep what follows the mark as it is, or
    read it by `by_script`.
    """
    return {
        name: rule._replace(
            open=replace(
                rule.open,
                extract=partial(
                    extract_short_answer, parse_output=None if name == OWN else by_script or parse_marked_answer
                ),
            )
        )
        for name, rule in rules.items()
    }


def adapt_to_extractor(declaration: Declaration, variant: Variant) -> Declaration:
    """Record how the extractor is asked, or say in every summary what it costs to have none."""
    if variant.extractor:
        return replace(declaration, parameters=rubric_parameter(ANSWER_RUBRIC))
    return replace(declaration, notices=(NO_EXTRACTOR_NOTICE,))


def extract_short_answer(
    sample: Sample, reply: str, ref: Ref, parse_output: Callable[[Output], Answer | None] | None = None
) -> Steps[Extraction]:
    """Ask the extractor for the short answer in a reply; `parse_output` parses what it says."""
    output = yield Generate(
        messages=load_rubric(ANSWER_RUBRIC).messages(question=sample.question, reply=reply),
        ref=ref,
        settings=EXTRACTION_SETTINGS,
        to=EXTRACTOR,
    )
    return Extraction(output, (parse_output or _parse_output)(output))


def _parse_output(output: Output) -> Answer | None:
    """Parse the extractor's output: None if it failed, a refusal if it could not see the pages."""
    if not isinstance(output, Generated):
        return None
    parsed = parse_extracted_document_answer(model_text(output))
    if parsed is None or not parsed.text:
        return Unparsed()
    if parsed.text.casefold().strip(" .") == FAILS_TO_ANSWER:
        return Refused(RULE)
    return ParsedAnswer(NOT_ANSWERABLE if abstains(parsed.text) else parsed.text, RULE)


def parse_marked_answer(output: Output) -> Answer | None:
    """Parse what follows the first mark, as VLMEvalKit and the authors' script do; without a
    mark there is no answer."""
    if not isinstance(output, Generated):
        return None
    parts = model_text(output).split("Answer format:")[0].split("Extracted answer:")
    text = parts[1].strip() if len(parts) > 1 else ""
    return ParsedAnswer(text, RULE) if text else Unparsed()

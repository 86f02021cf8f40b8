"""What benchmarks about documents of several pages share.

Their gold answers are short, and models reply in sentences. VLMEvalKit has a language model copy
the short answer out of every reply before it is compared, as the authors of MMLongBench-Doc do (Ma
et al. 2024, https://arxiv.org/abs/2407.01523, Sec. 3.1). Here the run's extractor does, with a
prompt of ours. Without an extractor a rule takes the answer that a reply marks, else the whole
reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.protocol.judging import rubric_parameter
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.benchmark import Variant, requires
from snellen.core.flow import Steps
from snellen.core.output import Answer, Generated, Output, ParsedAnswer, Refused, Unparsed
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import Sample
from snellen.extract.llm import EXTRACTOR, RULE, Extraction
from snellen.extract.open_text import parse_final
from snellen.extract.unanswered import model_text
from snellen.extract.verdicts import FAILS_TO_ANSWER, parse_extracted_document_answer
from snellen.prompts.judging import load_rubric
from snellen.scoring.document import NOT_ANSWERABLE, abstains

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


def add_extraction(rules: Mapping[str, ParserSet]) -> dict[str, ParserSet]:
    """The rules, with an extractor in front of them if the run has one.

    Snellen's own rule unifies all ways to abstain; the others keep what follows the mark as it is.
    """
    return {
        name: rule._replace(
            open=replace(
                rule.open,
                extract=partial(extract_short_answer, parse_output=None if name == OWN else _parse_output_by_script),
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


def _parse_output_by_script(output: Output) -> Answer | None:
    """Parse what follows the first mark, as VLMEvalKit and the authors' script do; without a
    mark there is no answer."""
    if not isinstance(output, Generated):
        return None
    parts = model_text(output).split("Answer format:")[0].split("Extracted answer:")
    text = parts[1].strip() if len(parts) > 1 else ""
    return ParsedAnswer(text, RULE) if text else Unparsed()

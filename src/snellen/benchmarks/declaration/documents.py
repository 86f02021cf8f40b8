"""What the benchmarks about documents of several pages have in common.

Their answers are short, and models reply in sentences. VLMEvalKit has a language model copy the
short answer out of every reply before it is compared, as the authors of MMLongBench-Doc do (Ma et
al. 2024, https://arxiv.org/abs/2407.01523, Sec. 3.1): here the run's extractor, asked in our own
words. Without one a rule takes the answer that a reply marks, else all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.protocol.judging import rubric_parameter
from snellen.benchmarks.protocol.parsers import Readers
from snellen.core.answer import Answer, Found, Refused, Unparsed
from snellen.core.benchmark import Benchmark, Variant, needs
from snellen.core.flow import Steps
from snellen.core.output import Generated, Output
from snellen.core.record import Record
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import Sample
from snellen.core.summary import Summary
from snellen.extract.llm import EXTRACTOR, RULE, Extraction
from snellen.extract.open_text import read_final
from snellen.extract.unanswered import own_words
from snellen.extract.verdicts import FAILS_TO_ANSWER, read_document_answer
from snellen.prompts.judging import rubric
from snellen.prompts.pdf_pages import with_pages
from snellen.scoring.document import NOT_ANSWERABLE, abstains

PAGES = needs("text", "image", many_images=True)
RUBRIC = "document-answer"
OWN = "snellen"
SETTINGS = Generation(max_new_tokens=128)
WITHOUT_EXTRACTOR = (
    "a rule took the short answers; VLMEvalKit has a language model copy them out of every reply, "
    "so that replies in whole sentences score lower here than there: give one with --extractor "
    "MODEL"
)


def document_reader(reply: str, stop_reason: str) -> Answer:
    """The marked answer, else the whole reply; one that says there is no answer is read so."""
    read = read_final(reply, stop_reason=stop_reason)
    if isinstance(read, Found) and abstains(read.value):
        return Found(NOT_ANSWERABLE, "abstains", read.span)
    return read


def with_extraction(rules: Mapping[str, Readers]) -> dict[str, Readers]:
    """The rules, with an extractor's short answer in place of what they read, where there is an
    extractor. Snellen's own rule takes every way to abstain for the same; the others take what
    stands behind the mark as it is."""
    return {
        name: rule._replace(
            open=replace(
                rule.open,
                extract=partial(
                    extract_short_answer, answer_of=None if name == OWN else _by_script
                ),
            )
        )
        for name, rule in rules.items()
    }


def about_documents(made: Benchmark, variant: Variant) -> Benchmark:
    """The benchmark with pages for pictures. It records how its extractor is asked, and says what
    it costs to have none."""
    if variant.extractor:
        parameters = {**made.parameters, **rubric_parameter(RUBRIC)}
        return replace(made, prepare=with_pages, coverage="generic type", parameters=parameters)

    def summarise(records: Sequence[Record]) -> Summary:
        found = made.summarise(records)
        return structs.replace(found, notices=(*found.notices, WITHOUT_EXTRACTOR))

    return replace(made, prepare=with_pages, coverage="generic type", summarise=summarise)


def extract_short_answer(
    sample: Sample,
    reply: str,
    ref: Ref,
    answer_of: Callable[[Output], Answer | None] | None = None,
) -> Steps[Extraction]:
    """Ask the extractor for the short answer in a reply, which `answer_of` finds in its words."""
    output = yield Generate(
        messages=rubric(RUBRIC).messages(question=sample.question, reply=reply),
        ref=ref,
        settings=SETTINGS,
        to=EXTRACTOR,
    )
    return Extraction(output, (answer_of or _answer_of)(output))


def _answer_of(output: Output) -> Answer | None:
    """None where the extractor failed; a reply that says it cannot see the pages is a refusal."""
    if not isinstance(output, Generated):
        return None
    said = read_document_answer(own_words(output))
    if said is None or not said.text:
        return Unparsed()
    if said.text.casefold().strip(" .") == FAILS_TO_ANSWER:
        return Refused(RULE)
    return Found(NOT_ANSWERABLE if abstains(said.text) else said.text, RULE)


def _by_script(output: Output) -> Answer | None:
    """What stands behind the first mark, as VLMEvalKit and the authors' script take it; without a
    mark there is no answer."""
    if not isinstance(output, Generated):
        return None
    parts = own_words(output).split("Answer format:")[0].split("Extracted answer:")
    text = parts[1].strip() if len(parts) > 1 else ""
    return Found(text, RULE) if text else Unparsed()

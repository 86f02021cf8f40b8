"""VL-RewardBench: which of two answers is better, with models as judges (Li et al. 2024,
https://arxiv.org/abs/2411.17451).

One example row (made up): id "mathverse_12", query "What is x?", response ["It is 4.", "It is 5."],
human_ranking [0, 1] (rank 0 is the better one), category "reasoning", image. VLMEvalKit's file calls
query and human_ranking `question` and `answer`.

Oddities: 1,250 pairs. Which answer comes first is decided by the parity of their lengths together, as
in VLMEvalKit and lmms-eval, and not at random, as in the authors' script, which asks each pair ten times.
The headline is the share of right verdicts; the mean over the three groups (general, hallucination,
reasoning) stands beside. Their group follows from the id where the data do not name it.

Our rule reads the last "Answer 1 is better" or the only answer that the last line names. `--rule
official` is the authors' expression; a reply that it does not match counts for neither side there, and
is wrong here. VLMEvalKit and lmms-eval have a model read it.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import first_cell
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.declaration.video_questions import add_group_mean
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.parsers import OFFICIAL, OWN, ParserSet
from snellen.core import lazy_re as re
from snellen.core.errors import DataError
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.data.columns import parse_list
from snellen.extract.clean import blank_markup, without_thinking
from snellen.extract.published.safety import parse_overall_judgment
from snellen.extract.unanswered import unparsed_answer
from snellen.prompts.choice import PromptTemplate

GROUP = "category"
_ANSWER = "Answer"
_GROUPS = {"mathverse": "reasoning", "mmmu": "reasoning"} | dict.fromkeys(
    ("hallucination", "rlhf", "rlaif"), "hallucination"
)
"""Group of the data set that an id begins with; other sets are general."""
_PROMPT = """Judge which of two answers to the question about the picture is better.

Question: {question}

Answer 1: {first}

Answer 2: {second}

Compare how accurately they say what the picture shows, how completely they answer, how clear they are, and \
whether they keep to the question. Give your reasons, and end with "Overall Judgment: Answer X is better.", where X \
is 1 or 2."""
_BETTER = re.compile(
    r"answer\s*([12])\b(?:\s+(?:is|seems|appears)\b[^.\n]{0,40}?\b(?:better|superior|preferable|best)\b)", re.IGNORECASE
)
_NAMED = re.compile(r"answer\s*([12])\b", re.IGNORECASE)


def _sample(row: Row, options: Options) -> Sample:
    cells = row.cells
    answers = [str(one) for one in parse_list(first_cell(cells, "response")) or ()]
    ranks = [str(one) for one in parse_list(first_cell(cells, "human_ranking", "answer")) or ()]
    if len(answers) != 2 or sorted(ranks) != ["0", "1"]:
        raise DataError(f"expected two answers in `response` and their ranks 0 and 1; got {answers} and {ranks}")
    if sum(map(len, answers)) % 2:
        answers.reverse()
        ranks.reverse()
    question = first_cell(cells, "query", "question")
    group = first_cell(cells, GROUP) or _GROUPS.get(
        first_cell(cells, "id").replace("-", "_").partition("_")[0].lower(), "general"
    )
    return build_sample(
        row,
        question=_PROMPT.format(question=question, first=answers[0], second=answers[1]),
        gold=f"{_ANSWER} {ranks.index('0') + 1}",
        groups={GROUP: group},
    )


def _parse(reply: str, stop_reason: str = "stop") -> Answer:
    text = blank_markup(without_thinking(reply))
    stated = _BETTER.findall(text)
    named = set(_NAMED.findall(text.rstrip().rpartition("\n")[2]))
    found = stated[-1] if stated else named.pop() if len(named) == 1 else ""
    return ParsedAnswer(found, "stated answer") if found else unparsed_answer(reply, stop_reason)


def _names_better(number: str, sample: Sample) -> float:
    return float(f"{_ANSWER} {number}" in sample.gold)


BENCHMARK = Declaration(
    name="vl-rewardbench",
    version="1",
    title="VL-RewardBench, the better of two answers",
    paper="https://arxiv.org/abs/2411.17451",
    provenance="VL-RewardBench of its authors, their TSV on the hub",
    data=single_tsv(
        "https://huggingface.co/datasets/MMInstruction/VL-RewardBench/resolve/main/vl_rewardbench.tsv",
        "4849259836bc143c43e8b77b9c84b398",
    ),
    aliases={"VL-RewardBench": {}, "vl_rewardbench": {}, "VLRewardBench": {}},
    sample=_sample,
    kind="open",
    template=PromptTemplate(open=""),
    max_new_tokens=1024,
    scoring=RuleScoring(
        rules={
            OWN: ParserSet(open=OpenScoring(_parse, _names_better)),
            OFFICIAL: ParserSet(open=OpenScoring(parse_overall_judgment, _names_better)),
        }
    ),
    headline=Headline(summarise=partial(add_group_mean, "mean_of_groups", GROUP)),
    coverage="exact",
)

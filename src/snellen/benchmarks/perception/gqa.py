"""GQA: composed questions about scenes (Hudson and Manning 2019,
https://arxiv.org/abs/1902.09506).

One example row: index 201307251, question "Is it overcast?", answer "no", image <base64>.

Oddities: 12,578 questions of the balanced test-dev set about 398 pictures, so that intervals are
taken over pictures. Golds are lower-case words, some with several.

Our rule is equality in lower case where one final dot does not count. The authors' `eval.py`
compares as is and is fed answers, not replies: published numbers come from replies that were first
put in lower case without the dots at their end (LLaVA's `convert_gqa_for_eval.py`), and `--rule
official` is both steps. VLMEvalKit and lmms-eval compare in lower case with the dot (`--rule
vlmevalkit`). The authors' further metrics (consistency, validity) need the scene graphs and are not
computed.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    against_gold,
    open_answers,
    open_rules,
)
from snellen.benchmarks.declaration.published import single_tsv
from snellen.scoring.exact import equal_converted, equal_folded, equal_without_dot

BENCHMARK = Declaration(
    name="gqa",
    version="3",
    title="GQA, composed questions about scenes",
    paper="https://arxiv.org/abs/1902.09506",
    provenance="GQA balanced test-dev set (CC BY 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/GQA_TestDev_Balanced.tsv",
        "99b62f22e224d9b2f32dcbe41359d1c9",
    ),
    aliases={"GQA_TestDev_Balanced": {}},
    scoring=open_answers(
        "exact_match",
        open_rules(
            against_gold(equal_without_dot),
            vlmevalkit=against_gold(equal_folded),
            official=against_gold(equal_converted),
        ),
    ),
)

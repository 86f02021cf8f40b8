"""The scorers that sets are judged by, with the commit that judged them."""

from __future__ import annotations

from tests.differential.sets import Oracle

VLMEVALKIT = Oracle(
    script="vlmevalkit",
    repository="open-compass/VLMEvalKit",
    commit="e8e78f05f3080fe28154f2130321f17951c3be94",
    licence="Apache-2.0",
    checkout="VLMEvalKit",
)
POPE_AUTHORS = Oracle(
    script="pope",
    repository="RUCAIBox/POPE",
    commit="3df3ba1b110ecce25696989577fad583b67d4239",
    licence="MIT",
    checkout="POPE",
)
POPE_LLAVA = Oracle(
    script="pope",
    repository="haotian-liu/LLaVA",
    commit="c121f0432da27facab705978f83c4ada465e46fd",
    licence="Apache-2.0",
    checkout="LLaVA",
)
MME_AUTHORS = Oracle(
    script="mme",
    repository="BradyFU/Awesome-Multimodal-Large-Language-Models",
    commit="dd2950902889cd614d4edf606827240166d29381",
    licence="none stated",
    checkout="MME",
)
"""Branch Evaluation, with tools/eval_tool.zip unpacked into the folder."""
MEGA_BENCH_AUTHORS = Oracle(
    script="mega_bench",
    repository="TIGER-AI-Lab/MEGA-Bench",
    commit="ee324ab7ee918dc570b322aa077d114502f61122",
    licence="Apache-2.0",
    checkout="MEGA-Bench",
)
"""Wants sympy 1.13.2 with antlr4-python3-runtime 4.11, regex, rapidfuzz, Unidecode and numpy; its
fonts, requests and maps are not needed."""
LMMS_EVAL = Oracle(
    script="lmms_eval",
    repository="EvolvingLMMs-Lab/lmms-eval",
    commit="75571cfe0fa36ca5ec2e6aa2bb268f9d38295af3",
    licence="Apache-2.0 and MIT",
    checkout="lmms-eval",
)
"""The functions of a task, as the framework calls them."""

# Benchmarks about videos that model reports quote.
LMMS_EVAL_VIDEO = Oracle(
    script="lmms_eval_video",
    repository="EvolvingLMMs-Lab/lmms-eval",
    commit="75571cfe0fa36ca5ec2e6aa2bb268f9d38295af3",
    licence="MIT",
    checkout="lmms-eval",
)
VSI_BENCH_AUTHORS = Oracle(
    script="lmms_eval_video",
    repository="vision-x-nyu/thinking-in-space",
    commit="51e089c3ae69b9435e9489058610f5b3964c56a8",
    licence="Apache-2.0",
    checkout="thinking-in-space",
)
MMVU_AUTHORS = Oracle(
    script="authors_videos",
    repository="yale-nlp/MMVU",
    commit="4d54223d912f498707c105ab645a921abce6e39a",
    licence="none stated",
    checkout="MMVU",
)
TVBENCH_AUTHORS = Oracle(
    script="authors_choice",
    repository="daniel-cores/tvbench",
    commit="c3543228c873a56e835221467ff5e3b728d0785c",
    licence="none stated",
    checkout="tvbench",
)


def _quoted(repository: str, commit: str, licence: str, script: str = "quoted_texts", checkout: str = "") -> Oracle:
    return Oracle(script, repository, commit, licence, checkout or repository.split("/")[1])


GSM8K = _quoted("openai/grade-school-math", "3101c7d5072418e28b9008a6636bde82a006892c", "MIT")
SIMPLE_EVALS = _quoted("openai/simple-evals", "ee3b0318d8d1d9d72755a4120879be65f7c07e9e", "MIT")
MMLU_PRO = _quoted("TIGER-AI-Lab/MMLU-Pro", "f418b116db00b065c2aea046518d8fcf74d39872", "Apache-2.0")
HENDRYCKS_MATH = _quoted("hendrycks/math", "985bdc1696e88e8643f081a0ff4719da39f2ae2a", "MIT")
LM_HARNESS = _quoted("EleutherAI/lm-evaluation-harness", "4e7e0d47f33bc71070c1d38394bafbb52b117163", "MIT")
WORLDVQA = _quoted("MoonshotAI/WorldVQA", "d8dded9da9243dc27e1b4ab023863f5ce377a97d", "none stated", "quoted_judged")
BABYVISION = _quoted("UniPat-AI/BabyVision", "7f92fd4b1dc1c68b7b936a9bc09c68b4a944a55a", "none stated", "quoted_judged")
INSPECT_EVALS = _quoted("UKGovernmentBEIS/inspect_evals", "0.26.0", "MIT", "quoted_judged")
"""As PyPI has it, its package in a folder of that name."""
MISTRAL_EVALS = _quoted(
    "mistralai/mistral-evals", "d61811fcd34b7802109538bacc28e70d8633f261", "none stated", "quoted_judged"
)
MIA_BENCH = _quoted(
    "apple/ml-mia-bench", "5422852d98cb167390da9501200360860435efb1", "Apple's sample code licence", "quoted_judged"
)
SIMPLEVQA = _quoted("SimpleVQA/SimpleVQA", "b94d1f3d05d7f488afcdcf95bfcd69bcb279111e", "Apache-2.0", "quoted_judged")
VLMEVALKIT_QUOTED = _quoted("open-compass/VLMEvalKit", VLMEVALKIT.commit, "Apache-2.0", "quoted_judged")
CHARTQAPRO = _quoted("vis-nlp/ChartQAPro", "4b422c658270aff1d3105fd0fb39b1dd5de9f08c", "MIT")
SIUO = _quoted("sinwang20/SIUO", "18974b65d238ad636d65d238541c7d75279ebb3e", "none stated")
SIUO_JUDGED = _quoted("sinwang20/SIUO", SIUO.commit, "none stated", "quoted_judged")
VIDEO_MME_V2 = _quoted("MME-Benchmarks/Video-MME-v2", "b24176a14506c48a9f3e156d9f20068db6c4782b", "none stated")
REWARDBENCH = _quoted(
    "facebookresearch/multimodal_rewardbench", "b4b92cdac0df81b2a134bcb1b91411d67b55f80f", "CC BY-NC 4.0"
)
VL_REWARDBENCH = _quoted("vl-rewardbench/VL_RewardBench", "9b10abdc91678bc5fb2bd7eea4d73d3af484db9f", "none stated")
INSPECT_ZEROBENCH = _quoted("UKGovernmentBEIS/inspect_evals", "0.26.0", "MIT")
VLMEVALKIT_TEXTS = _quoted("open-compass/VLMEvalKit", VLMEVALKIT.commit, "Apache-2.0")

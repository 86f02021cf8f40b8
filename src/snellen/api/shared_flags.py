"""Flags that more than one command has. A flag of one name means one thing everywhere: commands
differ in its default alone, which `--help` appends to the help line."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.api.flags import (
    FAILURES,
    RULES,
    Flag,
    FlagKey,
    parse_facts,
    parse_failure_policy,
    parse_pairs,
    parse_percent,
    parse_rule,
    parse_share,
    parse_token_count,
)

FORMATS = ("table", "json", "csv", "markdown", "latex", "html")
GENERATION_KEYS: Mapping[str, FlagKey] = {
    "temperature": FlagKey("sampling temperature (default: the benchmark's, mostly 0)", float),
    "top_p": FlagKey("sample from the most likely tokens whose probabilities sum to this value", float),
    "top_k": FlagKey("sample from this many most likely tokens; 0 from all", int),
    "repetition_penalty": FlagKey("divide the scores of tokens that prompt or reply hold already (1: none)", float),
    "presence_penalty": FlagKey(
        "subtract this from the scores of tokens that the reply holds already (0: none)", float
    ),
    "seed": FlagKey("seed of the first repeat; repeat r uses seed + r, counted from 0", int),
    "max_new_tokens": FlagKey("the most tokens of a reply", int, "variant.max_new_tokens"),
    "extend_truncated": FlagKey(
        "ask again, with this limit of tokens, for the replies that were cut at their limit, and "
        "for no others; e.g. 32k",
        parse_token_count,
        "extend_truncated",
    ),
}
REQUEST_KEYS: Mapping[str, FlagKey] = {
    "retries": FlagKey("retries of a request after a temporary error (7)", int, "retries"),
    "max_failures": FlagKey(
        "end the run once more requests than this, N or P%%, have failed permanently (default: once "
        "the first 20 to a server have all failed, or 20 in a row after it went away)",
        str,
        "max_failures",
    ),
    "serve_timeout": FlagKey("seconds for a server to become ready", float, "serve_timeout"),
}
EXECUTOR_KEYS: Mapping[str, FlagKey] = {
    "replicas": FlagKey("copies of each model (1)", int),
    "gpus": FlagKey("GPUs for each copy, may be a fraction such as 0.5 (0)", float),
    "cpus": FlagKey("CPU cores for each copy (1)", float),
    "address": FlagKey("a running cluster, or auto (one is started on this machine)"),
}

_FLAGS = (
    # What is printed and written.
    Flag("--format", "how results are printed", choices=FORMATS),
    Flag("--json", "the same as --format json", is_switch=True),
    Flag(
        "--output",
        "write the results to a file in the format of its ending: .txt .json .csv .md .tex .html; "
        "or draw them: .svg .png .pdf; repeat for several",
        "FILE",
        short="-o",
        is_repeatable=True,
    ),
    Flag("--out", "the folder that this command writes", "DIR"),
    Flag("--quiet", "show no progress", short="-q", is_switch=True),
    Flag("--top", "rows of each table", "N", int),
    # Models and how they are asked.
    Flag(
        "--model",
        "provider/model[:key=value,...], e.g. snellen/tiny, hf/ORG/NAME:dtype=bfloat16, random; repeat for several",
        "MODEL",
        short="-m",
        is_repeatable=True,
    ),
    Flag(
        "--judge",
        "a model that grades replies or explanations; with :repeats=N it is asked N times for each "
        "verdict; a CLIP model (clip/ORG/NAME) compares generated images; repeat for several, "
        "whose verdicts are combined; for predictions also column:NAME (recorded verdicts) or off",
        "MODEL",
        is_repeatable=True,
    ),
    Flag(
        "--extractor",
        "a model that reads replies which no rule can parse; repeat to compare several; for "
        "predictions also column:NAME (answers in a column)",
        "MODEL",
        is_repeatable=True,
    ),
    Flag(
        "--generation",
        "how replies are generated, where the options behind a model's name do not say it",
        "KEY=VALUE,...",
        keys=GENERATION_KEYS,
    ),
    Flag("--requests", "how requests are sent", "KEY=VALUE,...", keys=REQUEST_KEYS),
    Flag(
        "--executor",
        "`local`: models run in this process; `ray[:KEY=VALUE,...]`: as replicas on a Ray cluster",
        "EXECUTOR",
        keys=EXECUTOR_KEYS,
    ),
    Flag("--load", "a Python file with a model or benchmark of your own", "FILE.py", is_repeatable=True),
    Flag(
        "--budget",
        "what this command may spend, e.g. 5usd or 2Mtok; requests without an answer yet count at the "
        "price of their longest possible reply",
        "AMOUNT",
    ),
    Flag(
        "--price",
        "price of a million tokens, for models whose price Snellen does not know",
        "MODEL:input=USD,output=USD",
        is_repeatable=True,
    ),
    Flag("--store", "the response store; if none is named, store.sqlite in the folder of --out", "FILE"),
    Flag(
        "--fresh",
        "ask again, even if replies are stored; repeat the command to resume, and use a NAME to "
        "refer to these replies later",
        "NAME",
        bare_value="",
    ),
    Flag("--seed", "seed of random choices", "N", int),
    Flag("--limit", "only N samples, selected at random", "N", int),
    # Benchmarks, data and runs.
    Flag(
        "--benchmark",
        "a name such as eyechart or scienceqa:split=val, a suite such as openvlm-core, or a data "
        "or TOML file of your own; for files of predictions: what they answer",
        "BENCHMARK",
        short="-b",
    ),
    Flag(
        "--data",
        "data file in place of the benchmark's own; for runs: where their data are now, if they were moved",
        "FILE",
    ),
    Flag(
        "--columns",
        "names of your columns, e.g. question=text,gold=label; ignore=A+B: columns that are not "
        "read; label_answer=NAME or label_right=NAME: what people say of scored replies",
        "ROLE=NAME,...",
        parse_pairs,
    ),
    Flag("--where", "only these rows of a file of predictions", "COLUMN=VALUE,...", parse_pairs),
    Flag(
        "--rule",
        "rule that parses the replies: `snellen`, `vlmevalkit` (without a judge) or `official`, "
        "the script of the benchmark's authors, if there is one; `vlmevalkit@2025-04` is the rule "
        "of that month",
        "|".join(RULES),
        parse_rule,
    ),
    Flag(
        "--circular",
        "every rotation of the options: `early` stops at the first failed pass, `full` asks all, `off` "
        "asks one; the flag alone means `early`, and MMBench is circular without it",
        choices=("early", "full", "off"),
        bare_value="early",
    ),
    Flag(
        "--failures",
        "how failed and missing samples affect the score (default: left out, with a notice; by the "
        "rule of another tool as there, mostly `as-reply`: error messages are scored like any "
        "reply, missing ones are left out); `withhold>P%%` withholds the score if more than P%% of "
        "them failed",
        "|".join(FAILURES),
        parse_failure_policy,
    ),
    Flag(
        "--control",
        "`blind` removes the images (text-only models can be asked), `black` replaces them with "
        "black ones, `blur[:PERCENT]` blurs them, `wrong-image[:SEED]` swaps them between "
        "questions; `shuffled-options[:SEED]` shuffles the options",
        "CONTROL",
    ),
    Flag("--runs", "run folders, folders of runs, or files of predictions", "RUN", is_repeatable=True),
    Flag("--group", "column whose values group the samples, e.g. category", "NAME"),
    Flag(
        "--filter", "only models of the catalog with these facts, e.g. open,size<10,modality=video,name~qwen", "FILTER"
    ),
    Flag("--common", "only the samples that all runs share, where their data or samples differ", is_switch=True),
    Flag("--name", "the name in tables and files", "NAME"),
    Flag(
        "--track",
        "log the results to tensorboard:DIR, wandb:PROJECT or mlflow:URI; repeat for several",
        "KIND:WHERE",
        is_repeatable=True,
    ),
    # Statistics.
    Flag("--level", "confidence of intervals and tests", "PERCENT", parse_percent),
    Flag("--power", "power of tests and of a study", "PERCENT", parse_percent),
    Flag("--share", "which share is sampled or flagged, e.g. 0.1 or 10%%", "SHARE", parse_share),
    # Files that people fill in, and pages.
    Flag("--each", "show or draw N samples of each group, cause or verdict", "N", int),
    Flag("--only", "only these groups, models or tasks, in this order", "NAME,..."),
    Flag("--port", "port to serve on; 0 takes a free one", "N", int),
    Flag("--open", "open the browser", is_switch=True),
    Flag("--facts", "facts that are stated of a model, a data set or a publication", "KEY=VALUE,...", parse_facts),
    Flag("--repair", "mend what can be mended", is_switch=True),
    Flag("--allow-missing", "questions without a reply count as wrong, instead of a refusal", is_switch=True),
    Flag("--publish", "publish the scores", is_switch=True),
    Flag("--withdraw", "take a submission, or the numbers of a source, off its board", "ID"),
    Flag("--list", "list what can be named here, and do nothing else", is_switch=True),
    Flag("--title", "a title for readers", "TEXT"),
    Flag("--description", "a sentence or paragraph for readers", "TEXT"),
    Flag("--seal-key", "file of the key that encrypts hidden answers", "FILE"),
)
SHARED_FLAGS: Mapping[str, Flag] = {flag.name: flag for flag in _FLAGS}

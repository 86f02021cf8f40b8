"""Flags of the commands that ask models, or would: `run`, `plan`, `score`, `parity`."""

from __future__ import annotations

import argparse

from snellen.cli import parser_executor, parser_study
from snellen.cli import parser_flags as flags
from snellen.cli.parser_flags import Commands

CIRCULAR = ("early", "full", "off")
FAILURES = ("exclude", "count-wrong", "withhold", "withhold>P%")
RULES = ("snellen", "vlmevalkit", "official")
EVERY_RULE = "all"
_RULE = (
    "whose rules read the replies: `snellen`, `vlmevalkit` (without a judge) or `official`, the "
    "script of the benchmark's authors where it has one; `vlmevalkit@2025-04` as it was then"
)
_RULES = "|".join(RULES)


def add(commands: Commands) -> None:
    run = flags.command(commands, "run", "ask models about benchmarks and report")
    _run(run, html="write no report.html", quiet="show no progress")
    plan = flags.command(commands, "plan", "tell what a run would ask, cost and lack")
    _run(plan, html="as for `run`; changes nothing here", quiet="show the table alone")
    _plan(plan)
    _score(commands)


def _run(parser: argparse.ArgumentParser, *, html: str, quiet: str) -> None:
    """Everything that makes a run: `plan` takes it too, so that a command can be planned by
    another first word. `html` and `quiet` are the words of help for these flags."""
    _questions(parser)
    _variant(parser)
    _roles(parser)
    _terms(parser)
    parser.add_argument(
        "--until", metavar="RULE",
        help="ask in random order and stop once the score is known so well (`±1` or `+-1` points), "
        "or once one of the two models is known to be better (`A>B`)",
    )  # fmt: skip
    parser.add_argument("--no-html", action="store_true", help=html)
    parser.add_argument("-q", "--quiet", action="store_true", help=quiet)
    parser_executor.add(parser)


def _questions(parser: argparse.ArgumentParser) -> None:
    flags.asked_models(
        parser,
        "provider/model[:key=value,...], e.g. snellen/tiny, hf/ORG/NAME:dtype=bfloat16, random; "
        "repeat for several",
    )
    parser.add_argument(
        "-b", "--benchmark", action="append", required=True, metavar="BENCHMARK",
        help="a name such as eyechart or scienceqa:split=val, a suite such as openvlm-core, or a "
        "data file or TOML file of your own; repeat for several",
    )  # fmt: skip
    flags.kept(parser, "runs")
    parser.add_argument(
        "--fresh", nargs="?", const="", metavar="NAME",
        help="ask anew whatever the store has; the same command goes on with what it left, and a "
        "NAME finds these replies again",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N", help="ask a random N of the samples")
    parser.add_argument(
        "--seed", type=int, default=0, help="chooses the samples of --limit, the order of --until"
    )
    flags.max_new_tokens(parser)
    _draws(parser)
    parser.add_argument(
        "--control", metavar="CONTROL",
        help="`blind` shows no picture (text-only models may be asked), `black` black ones, "
        "`blur[:PERCENT]` blurred ones, `wrong-image[:SEED]` those of other questions; "
        "`shuffled-options[:SEED]` reorders the options",
    )  # fmt: skip
    flags.load(parser)
    parser.add_argument("--rule", type=_rule, metavar=_RULES, help=_RULE)
    parser.add_argument(
        "--no-recipe", action="store_true",
        help="ask as the benchmark asks everybody, not as a model's authors prescribe",
    )  # fmt: skip


def _draws(parser: argparse.ArgumentParser) -> None:
    """How often and how freely replies are drawn."""
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="K",
        help="ask each question K times and report mean, pass@k, majority and consistency",
    )  # fmt: skip
    parser.add_argument(
        "--temperature", type=float, metavar="T",
        help="how freely the models draw their replies (default: as the benchmark has it, mostly "
        "0); also an option behind a model's name, as top_p and seed are",
    )  # fmt: skip
    parser.add_argument(
        "--top-p", type=float, metavar="P",
        help="draw among the likeliest words that together have this probability",
    )  # fmt: skip
    parser.add_argument(
        "--sampling-seed", type=int, metavar="N",
        help="seed of the first draw; draw r has N + r, counted from 0",
    )  # fmt: skip


def _roles(parser: argparse.ArgumentParser) -> None:
    """Models beside those that are measured."""
    parser.add_argument(
        "--extractor", action="append", default=[], metavar="MODEL",
        help="a model that reads the replies no rule can match; repeat to compare several",
    )  # fmt: skip
    parser.add_argument(
        "--judge", action="append", default=[], metavar="MODEL",
        help="a model that grades replies where a benchmark needs it; repeat for several, whose "
        "verdicts are put together",
    )  # fmt: skip
    parser.add_argument(
        "--judge-repeats", type=int, default=1, metavar="J",
        help="ask for each verdict J times, in the same way, and show how far a judge varies",
    )  # fmt: skip
    parser.add_argument(
        "--clip", metavar="MODEL",
        help="a CLIP model that compares drawn pictures, e.g. clip/openai/clip-vit-large-patch14",
    )  # fmt: skip


def _terms(parser: argparse.ArgumentParser) -> None:
    """On what terms servers are asked."""
    parser.add_argument(
        "--serve", metavar="COMMAND",
        help="start this model server, ask it, and stop it; {port} stands for the port and "
        "{model} for the name after -m, e.g. 'vllm serve {model} --port {port}'",
    )  # fmt: skip
    flags.serve_timeout(parser)
    flags.terms(parser)


def _variant(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="FILE", help="data to use in place of the benchmark's")
    flags.columns(parser)
    parser.add_argument(
        "--circular", nargs="?", const="early", choices=CIRCULAR,
        help="ask every rotation of the options; `early` (default) stops at the first failed "
        "pass, `full` asks all, `off` asks once; MMBench is circular by itself",
    )  # fmt: skip
    parser.add_argument(
        "--failures", default="exclude", type=_failure_rule, metavar="|".join(FAILURES),
        help="what failed and missing samples do to the score (default: left out, with a notice); "
        "with a share, it is withheld where more of them failed",
    )  # fmt: skip


def _rule(text: str) -> str:
    """The value of --rule. Raises ArgumentTypeError."""
    if text in RULES or text.startswith("vlmevalkit@"):
        return text
    raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {', '.join(RULES)})")


def _rule_or_all(text: str) -> str:
    return text if text == EVERY_RULE else _rule(text)


def _failure_rule(text: str) -> str:
    """The value of --failures. Raises ArgumentTypeError."""
    if text in FAILURES[:-1] or text.startswith("withhold>"):
        return text
    raise argparse.ArgumentTypeError(
        f"invalid choice: {text!r} (choose from {', '.join(FAILURES)})"
    )


def _plan(plan: argparse.ArgumentParser) -> None:
    """What is taken for granted where nothing was measured."""
    plan.add_argument("--accuracy", type=flags.share, metavar="SHARE",
                      help="share of passes taken to be right (default: 0.6)")  # fmt: skip
    plan.add_argument("--reply-tokens", type=int, metavar="N",
                      help="tokens a reply is taken to have (default: 64)")  # fmt: skip
    plan.add_argument("--picture-tokens", type=int, metavar="N",
                      help="tokens a picture is taken to have (default: 1000)")  # fmt: skip
    plan.add_argument("--probe", action="store_true",
                      help="send readers, judges and servers one small request each")  # fmt: skip
    flags.as_json(plan)
    parser_study.add(plan)


def _score(commands: Commands) -> None:
    score = flags.command(commands, "score", "score recorded predictions, without a model")
    score.add_argument(
        "benchmark", metavar="BENCHMARK",
        help="a name, a data file, or one file that holds questions, answers and predictions",
    )  # fmt: skip
    score.add_argument(
        "--predictions", metavar="FILE",
        help="CSV, TSV, JSONL, JSON or XLSX; also VLMEvalKit's files, lmms-eval's sample logs, "
        "logs of Inspect, MME's result files or their folder, SEED-Bench's results.json",
    )  # fmt: skip
    score.add_argument(
        "--rule", type=_rule_or_all, metavar=f"{_RULES}|{EVERY_RULE}",
        help=f"{_RULE}; `{EVERY_RULE}` puts them side by side",
    )  # fmt: skip
    score.add_argument(
        "--where", type=flags.pairs, metavar="COLUMN=VALUE,...", help="score only these rows"
    )
    score.add_argument(
        "--judge", action="append", default=[], metavar="MODEL",
        help="a model that grades the replies where the benchmark needs it, or column:NAME for "
        "verdicts in the predictions file (column:A+B joins two); repeat for several",
    )  # fmt: skip
    score.add_argument(
        "--extractor", metavar="MODEL",
        help="a model that reads the replies no rule can match, or column:NAME for what one said "
        "of them in the predictions file",
    )  # fmt: skip
    score.add_argument(
        "--labels", type=flags.pairs, metavar="answer=COLUMN|right=COLUMN",
        help="a column that says what each reply answers, or whether it is right: measures the "
        "rules, the extractor and the judges by it",
    )  # fmt: skip
    score.add_argument(
        "--store", metavar="FILE",
        help="where the verdicts of judges and of the extractor are kept (default: "
        "snellen-results/store.sqlite)",
    )  # fmt: skip
    flags.as_json(score)
    _variant(score)


def add_parity(commands: Commands) -> None:
    parity = flags.command(commands, "parity", "compare two backends of one model")
    flags.asked_models(parity, "given twice, e.g. hf/ORG/NAME and vllm/ORG/NAME", required=True)
    parity.add_argument("-b", "--benchmark", required=True, metavar="BENCHMARK",
                        help="where the questions come from")  # fmt: skip
    parity.add_argument("-n", "--limit", type=int, default=64, metavar="N",
                        help="ask a random N of the samples (default: 64)")  # fmt: skip
    parity.add_argument("--seed", type=int, default=0, help="chooses the samples")
    flags.max_new_tokens(parity)
    parity.add_argument(
        "--tolerance", type=float, default=0.02, metavar="NATS",
        help="how far log-probabilities of one token may differ (default: 0.02)",
    )  # fmt: skip
    flags.kept(parity, "replies and logs")
    flags.load(parity)
    flags.serve_timeout(parity)
    flags.as_json(parity)

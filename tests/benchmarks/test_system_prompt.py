"""A system prompt of the user's goes before every question to the measured model, and nowhere
else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from seed_files import seed_h

from snellen import evaluate
from snellen.analysis.comparison.deviations import deviations
from snellen.analysis.comparison.reopened_data import benchmark_of
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.system_prompt import prepend_system
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.output import CandidateScore, Generated, Output, Ranked
from snellen.core.record import Record, run_flow
from snellen.core.request import Message, Rank, Request, Text, request_digest, user
from snellen.core.sample import Sample

TERSE = "You are terse."


def ask(benchmark: Benchmark, answer: str = "A") -> tuple[Record, list[Request]]:
    """The record of the first sample, and what was asked for it."""
    asked: list[Request] = []

    def reply(request: Request) -> Output:
        asked.append(request)
        first_text(request)  # as a model does; prompts that nobody read are not recorded
        if isinstance(request, Rank):
            return Ranked(tuple(CandidateScore(-1.0, 1) for _ in request.candidates))
        return Generated(answer)

    sample: Sample = next(iter(benchmark.samples(benchmark.open())))
    return run_flow(benchmark.flow(sample), reply), asked


def first_text(request: Request) -> tuple[str, str]:
    message = request.messages[0]
    return message.role, message.text()


@pytest.mark.parametrize("options", [{}, {"prompt": "vlmevalkit"}, {"shots": "2"}])
@pytest.mark.parametrize("circular", ["off", "full"])
def test_system_prompt_begins_every_request_and_is_recorded(options: dict[str, str], circular: str) -> None:
    plain = Variant(options=options, circular=circular)
    without, asked_without = ask(open_benchmark("eyechart", plain))
    record, asked = ask(open_benchmark("eyechart", replace(plain, system=TERSE)))
    assert len(asked) == len(asked_without) > 0
    assert {first_text(request) for request in asked} == {("system", TERSE)}
    for request, plain_request in zip(asked, asked_without, strict=True):
        assert tuple(request.messages[1:]) == tuple(plain_request.messages)
        assert request_digest(request, "m") != request_digest(plain_request, "m")
    for each, plain_pass in zip(record.passes, without.passes, strict=True):
        assert each.prompt[0] == Message("system", (Text(TERSE),))
        assert each.prompt[1:] == plain_pass.prompt
    assert record.score == without.score


def test_system_prompt_is_not_sent_to_judges_and_extractors(tmp_path: Path) -> None:
    data = tmp_path / "open.tsv"
    data.write_text("index\tquestion\tanswer\n1\tWhich city?\tRome\n")
    described = tmp_path / "open.toml"
    described.write_text('data = "open.tsv"\njudge = true\n')
    judged = Variant(judges=1, system=TERSE)
    _, asked = ask(open_benchmark(str(described), judged), "Grade: 4")
    roles = {request.to: first_text(request) for request in asked}
    assert roles["model"] == ("system", TERSE)
    assert roles["judge"][1] != TERSE
    _, asked = ask(open_benchmark("eyechart", Variant(extractor=True, system=TERSE)), "unclear")
    assert {request.to for request in asked} == {"model", "extractor"}
    assert all((first_text(one) == ("system", TERSE)) == (one.to == "model") for one in asked)


def test_ranked_question_gets_the_system_prompt(tmp_path: Path) -> None:
    data = str(seed_h(tmp_path, 1, ["Scene Understanding"]))
    _, asked = ask(open_benchmark("seedbench:version=H", Variant(data=data, system=TERSE)))
    assert isinstance(asked[0], Rank)
    assert first_text(asked[0]) == ("system", TERSE)


def test_a_system_message_of_the_template_follows_in_the_same_message() -> None:
    messages = (Message("system", (Text("Think."),)), user(Text("Which?")))
    first, second = prepend_system(messages, TERSE)
    assert (first.role, first.text()) == ("system", f"{TERSE}\nThink.")
    assert second == messages[1]


def test_a_description_has_a_system_prompt_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tx\ty\tA\n")
    described = tmp_path / "q.toml"
    described.write_text(f'data = "q.tsv"\n[prompt]\nsystem = "{TERSE}"\n')
    _, asked = ask(open_benchmark(str(described)))
    assert first_text(asked[0]) == ("system", TERSE)


def test_an_empty_one_is_refused() -> None:
    with pytest.raises(UsageError, match="the system prompt is empty"):
        open_benchmark("eyechart", Variant(system=" "))


def test_a_run_records_it_and_reads_it_back(tmp_path: Path) -> None:
    (run,) = evaluate(
        "random", "eyechart", limit=3, variant=Variant(system=TERSE), out=tmp_path, html=False, progress=None
    ).runs
    assert run.info.config.parameters["system"] == TERSE
    assert benchmark_of(run).parameters["system"] == TERSE
    (said,) = [one for one in deviations(run.info) if "system prompt" in one.sentence]
    assert TERSE in said.sentence

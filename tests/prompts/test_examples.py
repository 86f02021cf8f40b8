"""Examples before a question: where they come from, and that they are never asked or scored."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from snellen import evaluate, score
from snellen.analysis.comparison.reopened_data import benchmark_of
from snellen.api.report import report_of
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.benchmarks.abilities import mmbench
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.registry import benchmark_sources, open_benchmark
from snellen.benchmarks.knowledge import mmmu
from snellen.cli import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.output import Generated
from snellen.core.record import run_flow
from snellen.core.request import Generate, Media

HEADER = "index\tquestion\tA\tB\tanswer"


def line(number: int, name: str = "") -> str:
    return f"{name}{number}\tWhich is {name}{number}?\tred\tblue\t{'AB'[number % 2]}"


def table(folder: Path, count: int = 6, name: str = "", *more: str) -> Path:
    path = folder / f"q{name}.tsv"
    path.write_text("\n".join([HEADER, *(line(n, name) for n in range(count)), *more]) + "\n")
    return path


def requests(benchmark: Benchmark, reply: str = "A") -> Iterator[tuple[str, list[Generate]]]:
    """Every sample's id, and what is asked about it."""
    for sample in benchmark.samples(benchmark.open()):
        seen: list[Generate] = []

        def answer(request: Generate, seen: list[Generate] = seen) -> Generated:
            seen.append(request)
            return Generated(reply)

        run_flow(benchmark.flow(sample), answer)
        yield sample.id, seen


def shown(request: Generate) -> list[str]:
    """The examples' questions and answers, without the question itself."""
    return [message.text() for message in request.messages[:-1]]


def test_examples_are_set_aside_where_nothing_is_held_out(tmp_path: Path) -> None:
    benchmark = open_benchmark(f"{table(tmp_path)}:shots=2")
    asked = dict(requests(benchmark))
    told = benchmark.few_shot_info() if benchmark.few_shot_info else None
    assert told is not None
    assert told.aside == len(told.ids) == 2
    assert set(asked) == {"0", "1", "2", "3", "4", "5"} - set(told.ids)
    texts = {tuple(shown(request)) for (request,) in asked.values()}
    assert len(texts) == 1, "the same examples before every question"
    first, answer, second, _ = texts.pop()
    assert f"Which is {told.ids[0]}?" in first
    assert answer == "AB"[int(told.ids[0]) % 2]
    assert f"Which is {told.ids[1]}?" in second
    assert [one.role for one in asked.popitem()[1][0].messages] == ["user", "assistant", "user", "assistant", "user"]


def test_examples_follow_from_the_seed_alone(tmp_path: Path) -> None:
    path = table(tmp_path, 12)

    def ids(seed: str) -> tuple[str, ...]:
        benchmark = open_benchmark(f"{path}:shots=3,shots_seed={seed}")
        assert benchmark.few_shot_info is not None
        return benchmark.few_shot_info().ids

    assert ids("0") == ids("0")
    assert len({ids(str(seed)) for seed in range(5)}) > 1


def test_the_run_and_its_report_say_what_was_set_aside(tmp_path: Path) -> None:
    path = table(tmp_path)
    (run,) = evaluate(["random"], [f"{path}:shots=2"], out=tmp_path / "o").runs
    config = run.info.config
    assert config.parameters == {"shots": "2", "shots_seed": "0", "shots_from": "aside"}
    assert config.examples is not None
    assert config.examples.aside == 2
    told = "2 questions set aside as examples, 4 scored"
    assert told in run.report().summary.notices
    page = (run.path / "report.html").read_text()
    assert told in page
    assert ", ".join(config.examples.ids) in page
    assert config.examples.digest in page
    assert not {record.id for record in run.records()} & set(config.examples.ids)
    again = benchmark_of(run)
    assert again.few_shot_info is not None
    assert again.few_shot_info() == config.examples
    (run.path / "report.json").unlink()
    assert told in report_of(run).summary.notices


def test_scores_of_recorded_replies_leave_the_examples_out(tmp_path: Path) -> None:
    path = table(tmp_path)
    replies = tmp_path / "p.csv"
    replies.write_text("index,prediction\n" + "".join(f"{n},A\n" for n in range(6)))
    scored = score(f"{path}:shots=2", replies)
    assert scored.summary.n == 4
    assert "2 questions set aside as examples, 4 scored" in scored.summary.notices


def test_a_file_named_by_the_user_gives_the_examples(tmp_path: Path) -> None:
    path, other = table(tmp_path), table(tmp_path, 5, "x")
    benchmark = open_benchmark(f"{path}:shots=2,shots_from={other}")
    asked = dict(requests(benchmark))
    assert len(asked) == 6
    assert benchmark.few_shot_info is not None
    told = benchmark.few_shot_info()
    assert told.aside == 0
    assert all(one.startswith("x") for one in told.ids)
    assert benchmark.parameters["shots_from"] == str(other)
    (run,) = evaluate(["random"], [f"{path}:shots=2,shots_from={other}"], out=tmp_path / "o").runs
    assert not any("set aside" in notice for notice in run.report().summary.notices)


def test_another_content_of_that_file_is_another_run(tmp_path: Path) -> None:
    path, other = table(tmp_path), table(tmp_path, 5, "x")
    spec = f"{path}:shots=2,shots_from={other}"
    (first,) = evaluate(["random"], [spec], out=tmp_path / "o", html=False).runs
    other.write_text(other.read_text().replace("red", "green"))
    (second,) = evaluate(["random"], [spec], out=tmp_path / "o", html=False).runs
    assert first.name != second.name


def test_a_question_that_the_file_holds_too_is_not_asked(tmp_path: Path) -> None:
    path = table(tmp_path)
    other = tmp_path / "other.tsv"
    other.write_text("\n".join([HEADER, line(2).replace("2\t", "twin\t", 1), line(9)]) + "\n")
    benchmark = open_benchmark(f"{path}:shots=2,shots_from={other}")
    assert "2" not in dict(requests(benchmark))
    assert benchmark.few_shot_info is not None
    assert benchmark.few_shot_info().aside == 1


def test_rotations_of_a_question_see_the_same_examples(tmp_path: Path) -> None:
    variant = Variant(options={"shots": "2"}, circular="full")
    (_, (first, second)), *_ = requests(open_benchmark(str(table(tmp_path)), variant))
    assert first.messages[:4] == second.messages[:4]
    assert first.messages[4] != second.messages[4]


def test_each_kind_of_question_has_examples_of_its_kind(tmp_path: Path) -> None:
    more = [f"y{n}\tIs {n} red? Please answer yes or no.\t\t\t{('Yes', 'No')[n % 2]}" for n in range(4)]
    benchmark = open_benchmark(f"{table(tmp_path, 6, '', *more)}:shots=2")
    for name, (request,) in requests(benchmark):
        answers = set(shown(request)[1::2])
        assert answers <= ({"Yes", "No"} if name.startswith("y") else {"A", "B"})
    assert benchmark.few_shot_info is not None
    assert benchmark.few_shot_info().aside == 4


def test_units_are_set_aside_whole(tmp_path: Path) -> None:
    """The second question about an MME image does not stay to be asked after the first is shown."""
    path = tmp_path / "mme.tsv"
    rows = [f"{n}\texistence\t{n // 2}.jpg\tIs there a {n}?\t{'No' if n % 2 else 'Yes'}" for n in range(6)]
    path.write_text("\n".join(["index\tcategory\timage_path\tquestion\tanswer", *rows]) + "\n")
    benchmark = open_benchmark("mme:shots=1", Variant(data=str(path)))
    left = sorted(int(sample.id) for sample in benchmark.samples(benchmark.open()))
    assert len(left) == 4
    assert all(left[at] + 1 == left[at + 1] for at in (0, 2))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("shots=6", "no choice question of q would be left to ask"),
        ("shots=7", "q has only 6 choice questions with an answer to show"),
        ("shots=1,shots_from=nowhere.tsv", "expected a data file or data set that there is, or"),
        ("shots_from=aside", "says where examples come from: add shots=1"),
    ],
)
def test_impossible_examples_give_one_sentence(tmp_path: Path, options: str, told: str) -> None:
    spec = f"{table(tmp_path)}:{options}"
    with pytest.raises(UsageError, match=told):
        dict(requests(open_benchmark(spec)))


def test_a_mistake_about_examples_ends_the_command(tmp_path: Path, capsys) -> None:
    spec = f"{table(tmp_path)}:shots=7"
    assert main(["run", "-m", "random", "-b", spec, "--out", str(tmp_path / "o")]) == 2
    assert "ask for fewer" in capsys.readouterr().err


def test_benchmark_in_own_code_shows_examples(tmp_path: Path) -> None:
    path = table(tmp_path)

    def factory(variant: Variant) -> Benchmark:
        return data_file_declaration(variant.data or str(path))(variant)

    benchmark = resolve_benchmark("mine", Variant(options={"shots": "2"}), {"mine": factory})
    assert {len(shown(request)) for _, (request,) in requests(benchmark)} == {4}
    with pytest.raises(UsageError, match="where a benchmark is opened by name"):
        factory(Variant(options={"shots": "2"}))


def test_too_few_examples_are_reported_before_asking(tmp_path: Path) -> None:
    path = table(tmp_path)
    with pytest.raises(UsageError, match="ask for fewer"):
        evaluate(["random"], [str(path), f"{path}:shots=7"], out=tmp_path / "o", html=False)
    assert not list((tmp_path / "o").glob("*/samples.jsonl"))


def test_examples_and_a_control_of_pictures_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--control would not change"):
        open_benchmark(f"{table(tmp_path)}:shots=1", Variant(control="blind"))


def test_examples_bring_their_pictures(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    lines = ["index\timage\tquestion\tA\tB\tanswer"]
    for number in range(3):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(buffer, "PNG")
        picture = base64.b64encode(buffer.getvalue()).decode()
        lines.append(f"{number}\t{picture}\tWhich {number}?\tred\tblue\tA")
    path.write_text("\n".join(lines) + "\n")
    benchmark = open_benchmark(f"{path}:shots=2")
    ((_, (request,)),) = requests(benchmark)
    seen = [part.digest for message in request.messages for part in message.parts if isinstance(part, Media)]
    assert len(set(seen)) == 3
    assert set(seen) == set(request.media)
    one = Capabilities(many_images=False)
    assert "a model of one image does not take" in (benchmark.requires(one) or "")
    assert open_benchmark(str(path)).requires(one) is None


@pytest.mark.parametrize(
    ("spec", "held_out"),
    [
        ("mmbench:split=test", "dev"),
        ("mmbench", ""),
        ("MMBench_TEST_CN_V11", "dev"),
        ("scienceqa", "val"),
        ("mmmu", "dev"),
        ("mmmu:split=test", "dev"),
        ("mmmu:split=dev", ""),
        ("a-bench:split=test", "val"),
        ("docvqa:split=test", "val"),
        ("mmt-bench:split=all", "val"),
        ("a-okvqa", "hf://HuggingFaceM4/A-OKVQA?split=train"),
        ("eyechart", ""),
    ],
)
def test_few_shot_pools_of_benchmarks(spec: str, held_out: str) -> None:
    assert open_benchmark(spec).few_shot_pool == held_out
    expected = held_out or "aside"
    with_shots = f"{spec}{',' if ':' in spec else ':'}shots=1"
    assert open_benchmark(with_shots).parameters["shots_from"] == expected


def put(cache: Path, published: object, split: tuple[str, ...], text: str) -> None:
    """A data file where a downloaded one would lie."""
    name = published.files[split].name  # type: ignore[attr-defined]
    folder = cache / "datasets"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_mmbench_test_shows_questions_of_dev(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    header = "index\tquestion\tA\tB\tanswer\tcategory\tsplit\timage\n"
    picture = base64.b64encode(_png()).decode()
    dev = "".join(f"{n}\tDev {n}?\tred\tblue\tA\tc\tdev\t{picture}\n" for n in range(3))
    test = "".join(f"{n}\tTest {n}?\tred\tblue\t\tc\ttest\t{picture}\n" for n in range(3))
    monkeypatch.setattr("snellen.data.locate.wrong_checksum", lambda *_: None)
    put(tmp_path / "cache", mmbench.BENCHMARK.data, ("dev", "en", "1.0"), header + dev)
    put(tmp_path / "cache", mmbench.BENCHMARK.data, ("test", "en", "1.0"), header + test)
    benchmark = open_benchmark("mmbench:split=test,shots=2")
    asked = dict(requests(benchmark))
    assert set(asked) == {"0", "1", "2"}
    for seen in asked.values():
        assert all("Dev " in text for text in shown(seen[0])[::2])
        assert "Test " in seen[0].messages[-1].text()


def test_mmmu_val_shows_the_rows_of_dev_in_the_same_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("snellen.data.locate.wrong_checksum", lambda *_: None)
    rows = [f"{split}{n}\t{split} {n}?\tred\tblue\tA\t{split}" for split in ("dev", "validation") for n in range(3)]
    text = "\n".join(["id\tquestion\tA\tB\tanswer\tsplit", *rows]) + "\n"
    put(tmp_path / "cache", mmmu.BENCHMARK.data, ("val",), text)
    asked = dict(requests(open_benchmark("mmmu:shots=2")))
    assert all(name.startswith("validation") for name in asked)
    assert all("dev " in text for (one,) in asked.values() for text in shown(one)[::2])


def test_the_authors_columns_of_a_okvqa_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    rows = [
        {
            "question_id": f"t{n}",
            "question": f"Train {n}?",
            "choices": ["red", "blue"],
            "correct_choice_idx": n % 2,
            "image": {"bytes": _png(n), "path": "x.png"},
        }
        for n in range(4)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    data = Variant(data=str(table(tmp_path)))
    benchmark = open_benchmark(f"a-okvqa:shots=3,shots_from={path}", data)
    for _, (request,) in requests(benchmark):
        texts = shown(request)
        numbers = [int(text.split("Train ")[1][0]) for text in texts[::2]]
        assert texts[1::2] == ["AB"[number % 2] for number in numbers]
    assert open_benchmark("a-okvqa").few_shot_pool


def test_a_run_folder_keeps_the_examples(tmp_path: Path) -> None:
    (run,) = evaluate(["random"], [f"{table(tmp_path)}:shots=1"], out=tmp_path / "o").runs
    stored = msgspec.json.decode((run.path / "run.json").read_bytes())
    told = stored["config"]["examples"]
    assert set(told) == {"ids", "digest", "aside"}
    assert benchmark_sources()["scienceqa"]().data.held_out == {"test": "val"}


def _png(number: int = 0) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (20 * number, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()

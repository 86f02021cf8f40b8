"""Rows of MME (arXiv:2306.13394): what a user types, and what must come of it."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from tests.paper_rows.user import User, encoded_image, wilson

PERCEPTION = ("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR")
COGNITION = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")


def write_mme(user: User, images: int = 2) -> list[dict[str, Any]]:
    """MME's layout: of each image a question that is a yes, and one that is a no."""
    rows: list[dict[str, Any]] = []
    for subtask in (*PERCEPTION, *COGNITION):
        for image in range(images):
            number = len(rows) // 2
            for answer in ("Yes", "No"):
                rows.append(
                    {
                        "index": len(rows),
                        "category": subtask,
                        "image": encoded_image(number),
                        "question": f"Is it {subtask} {image}, {answer}? Please answer yes or no.",
                        "answer": answer,
                    }
                )
    user.write_rows("mme.jsonl", rows)
    return rows


@pytest.mark.row("acc, acc+, 14 subtasks, perception and cognition", page="benchmarks.md")
def test_accuracy_by_pairs(user: User) -> None:
    rows = write_mme(user)
    # Perception is always right; in cognition the second image of each subtask is always "Yes".
    replies = [row["answer"] if row["category"] in PERCEPTION or at % 4 < 2 else "Yes" for at, row in enumerate(rows)]
    user.write_replies("replies.jsonl", replies)
    scored = user.run("snellen score mme --data mme.jsonl --predictions replies.jsonl --json").json()
    # A subtask is acc + acc+: 200 where all is right, 75 + 50 where one of four answers is wrong.
    assert scored["metrics"]["perception"] == 10 * 200
    assert scored["metrics"]["cognition"] == 4 * (75 + 50)
    assert scored["headline"]["value"] == 2000 + 500
    user.run("snellen run -m random -b mme --data mme.jsonl --no-html")
    assert 0 <= user.score("random") <= 2800


@pytest.mark.row("Three readings of a reply", page="scoring.md")
def test_three_readings(user: User) -> None:
    rows = write_mme(user)
    # The authors' script reads the first four letters alone, the words of the paper the whole.
    user.write_replies("replies.jsonl", [f"The answer is {row['answer'].lower()}." for row in rows])
    for reading, total in (("official", 0), ("word", 2800)):
        scored = user.run(
            "snellen score mme:reading=READING --data mme.jsonl --predictions replies.jsonl --json", READING=reading
        ).json()
        assert scored["headline"]["value"] == total
    side_by_side = user.run("snellen score mme --data mme.jsonl --predictions replies.jsonl --rule all").text
    assert "vlmevalkit" in side_by_side
    assert "official" in side_by_side


@pytest.mark.row(
    "Sixteen boards (Figure 2), strong and weak subtasks (Figure 3)", page="papers.md#their-tables-and-figures"
)
def test_boards_of_figure_2(user: User) -> None:
    lines = ["model,subtask,acc,acc_plus"]
    for model, best, points in (("One", PERCEPTION, 90), ("Two", COGNITION, 80)):
        for subtask in (*PERCEPTION, *COGNITION):
            acc = points if subtask in best else 50
            lines.append(f"{model},{subtask},{acc},{acc - 10}")
    user.write("mme_subtasks.csv", "\n".join(lines) + "\n")
    [found] = user.run("snellen leaderboard mme_subtasks.csv --format json").json()
    boards = {
        board["name"]: [(place["model"], place["score"]) for place in board["places"]] for board in found["boards"]
    }
    assert len(boards) == 16
    assert boards["perception"] == [("One", 10 * 170.0), ("Two", 10 * 90.0)]
    assert boards["cognition"] == [("Two", 4 * 150.0), ("One", 4 * 90.0)]
    assert all(len(places) == 2 for places in boards.values())
    user.run("snellen leaderboard mme_subtasks.csv -o boards.svg")
    assert "<svg" in (user.folder / "boards.svg").read_text()[:500]


EXPLANATIONS = ("Yes. There is no such thing in it at all.", "Yes. It stands on the left.")
"""Wrong answers to a no: the first contradicts its own explanation."""


@pytest.mark.row(
    "Four common problems (Section 4)",
    page="analyses.md",
    note="broken reasoning takes a judge model, whose errors people's labels measure and correct",
)
def test_four_common_problems(user: User) -> None:
    rows = write_mme(user)
    replies = []
    for at, row in enumerate(rows):
        if at % 4 == 0:
            replies.append("It shows a street.")
        elif row["answer"] == "Yes":
            replies.append("Yes")
        else:
            replies.append(EXPLANATIONS[at // 4 % 2])
    user.write_replies("replies.jsonl", replies)
    found = user.run("snellen analyse yes-no replies.jsonl -b mme --data mme.jsonl --json").json()
    told = {name: value for table in found["tables"] for row in table["rows"] for name, value in row.items()}
    # 14 of 56 are no yes or no; of the images that have both answers all say yes twice.
    assert told["not following"] == 14 / 56
    assert told["95 % interval"] == pytest.approx([part / 100 for part in wilson(14, 56)])
    assert (told["both yes"], told["both no"]) == (14, 0)
    assert told["yes where no is right"] == 1.0
    assert (told["wrong with reasons"], told["of wrong"]) == (28, 28)

    def judge(body: dict[str, Any]) -> str:
        """Right but for the first of the explanations that support the right answer."""
        words = str(body["messages"])
        return f"Verdict: {'right' if 'no such thing' in words else 'wrong'}"

    url = user.serve(judge)
    user.run(
        "snellen analyse yes-no replies.jsonl -b mme --data mme.jsonl --judge URL#tiny --sheet sheet.csv --each 10",
        URL=url,
    )
    with (user.folder / "sheet.csv").open() as file:
        sheet = list(csv.DictReader(file))
    assert len(sheet) == 20
    for at, row in enumerate(sheet):
        is_broken = "no such thing" in row["reply"]
        # People see it otherwise in one of ten.
        row["label"] = "yes" if is_broken != (at % 10 == 0) else "no"
    with (user.folder / "filled.csv").open("w") as file:
        writer = csv.DictWriter(file, sheet[0])
        writer.writeheader()
        writer.writerows(sheet)
    found = user.run(
        "snellen analyse yes-no replies.jsonl -b mme --data mme.jsonl --judge URL#tiny --labels filled.csv --json",
        URL=url,
    ).json()
    [row] = next(table["rows"] for table in found["tables"] if table["title"] == "reasoning right, answer wrong")
    assert (row["judge says"], row["of"]) == (14, 28)
    called = [one for one in sheet if "no such thing" in one["reply"]]
    confirmed = sum(one["label"] == "yes" for one in called)
    assert row["confirmed"] == f"{confirmed} of {len(called)}"
    low, high = row["95 % interval"]
    assert low < row["corrected"] < high

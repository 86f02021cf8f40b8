"""Questions with four options, replies to them, and a model that answers at once, as files."""

from __future__ import annotations

from pathlib import Path

REPLIES = ("{0}", "{0}. {1}", "The answer is {0}.", "It looks {1} to me.", "I would rather not say.")
COLOURS = ("red", "green", "blue", "white", "black", "yellow", "orange", "purple")
MODEL = """
import snellen

class AtOnce:
    identity = snellen.Identity("perf", "at-once", {})
    capabilities = snellen.Capabilities()
    concurrency = 16

    async def answer(self, request):
        return snellen.Generated("ABCD"[len(request.ref.sample) % 4])
"""
"""A module for `--load`, whose model is `AtOnce`."""


def write_samples(folder: Path, count: int) -> None:
    """Questions `q<count>.tsv` with four options in six categories, and replies `r<count>.tsv`."""
    questions, replies = ["index\tquestion\tA\tB\tC\tD\tanswer\tcategory"], ["index\tprediction"]
    for number in range(count):
        options = [COLOURS[(number + shift * (1 + number % 2)) % 8] for shift in range(4)]
        gold = "ABCD"[number % 4]
        cells = [f"{count}{number:05}", f"Color of thing {number} of {count}?", *options, gold]
        questions.append("\t".join([*cells, f"category {number % 6}"]))
        reply = REPLIES[number % 5].format(gold, options["ABCD".index(gold)])
        replies.append(f"{count}{number:05}\t{reply}")
    (folder / f"q{count}.tsv").write_text("\n".join(questions) + "\n")
    (folder / f"r{count}.tsv").write_text("\n".join(replies) + "\n")

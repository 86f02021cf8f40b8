"""Whether two wordings ask the same, in English, German and Chinese."""

from __future__ import annotations

import pytest

from snellen_curate.duplicates.compare_items import compare_content, content_words

SAME = [
    ("How many dogs are there in the image?", "How many dogs are in the picture?"),
    ("How many dogs can you see?", "What is the number of dogs in this picture?"),
    ("What's the colour of the car?", "Look closely. What is the color of the car?"),
    ("Is there a cat in the photo?", "Do you see a cat in the image?"),
    ("Why can't the man stand?", "Why cannot the man stand?"),
    (
        "Which animal is this?\nAnswer with the option's letter from the given choices directly.",
        "Please look at the picture. What animal is this?",
    ),
    ("Wie viele Hunde sind auf dem Bild zu sehen?", "Wie viele Hunde gibt es im Bild?"),
    (
        "Welche Farbe hat das Auto? Antworte mit einem Wort.",
        "Bitte schau genau hin. Welche Farbe hat das Auto auf dem Foto?",
    ),
    ("图中有几只猫？", "请问图片中有几只猫呢？"),
    ("这是什么颜色的车？请用一个词回答问题。", "请仔细看图。这是什么颜色的车？"),
    ("这个人如何过马路？", "这人怎样过马路？"),
]
DIFFERENT = [
    ("What colour is the cup on the left?", "What colour is the cup on the right?"),
    ("Which animal is in the picture?", "Which animal is not in the picture?"),
    ("Which animal is in the picture?", "Which animal isn't in the picture?"),
    ("Where is the red car?", "Where is the white car?"),
    ("How many cups are there?", "How many forks are there?"),
    ("Are there two cups?", "Are there three cups?"),
    ("Are there 2 cups and 3 forks?", "Are there 3 cups and 2 forks?"),
    ("Is the cup on the table?", "Is the cup under the table?"),
    ("Is it 1234?", "Is it 12345?"),
    ("Wo steht der Mann mit dem Hut?", "Wo steht die Frau mit dem Hut?"),
    ("Ist die Tasse links vom Teller?", "Ist die Tasse rechts vom Teller?"),
    ("Ist das ein Hund?", "Ist das kein Hund?"),
    ("Hat das Auto vier Türen?", "Hat das Auto fünf Türen?"),
    ("Liegt der Ball auf dem Tisch?", "Liegt der Ball unter dem Tisch?"),
    ("这个男人拿着什么？", "这个女人拿着什么？"),
    ("左边的杯子是什么颜色？", "右边的杯子是什么颜色？"),
    ("图中有狗吗？", "图中没有狗吗？"),
    ("图中有三只猫吗？", "图中有四只猫吗？"),
    ("红色的车在哪里？", "白色的车在哪里？"),
]
DOUBTFUL = [
    ("Is the dog left of the cat?", "Is the cat left of the dog?"),
    ("What is the man holding?", "What is the man holding in his hand?"),
    ("Is there a dog?", "Are there any dogs?"),
    ("Beißt der Hund den Mann?", "Beißt den Hund der Mann?"),
    ("猫在狗的左边吗？", "狗在猫的左边吗？"),
    ("Is the dog in the image on the left?", "Is the dog on the left?"),
]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        *((*pair, "same") for pair in SAME),
        *((*pair, "different") for pair in DIFFERENT),
        *((*pair, "doubtful") for pair in DOUBTFUL),
    ],
)
def test_wordings(one: str, other: str, expected: str) -> None:
    left, right = content_words(one), content_words(other)
    assert compare_content(left, right) == compare_content(right, left) == expected
    assert compare_content(left, left) == "same"


def test_a_text_of_instructions_alone_keeps_its_words() -> None:
    assert content_words("Choose the correct option.") == ("choose", "the", "correct", "option")
    assert content_words("") == ()

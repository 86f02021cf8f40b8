"""Made-up questions by subject, each pool with what is usual in the benchmarks that it stands for:
two options, ten, options that are letters, numbers, formulas or other scripts, options contained in
one another.
"""

from __future__ import annotations

from tests.differential.styles_choice import choice

LETTERS = (
    choice("Which part is the root?", "B", "c", "D", "b", "a"),
    choice("Which label stands at the leaf?", "A", "B", "A", "D", "C"),
    choice("What eats the grass?", "C", "Fox", "Owl", "Rabbit", "Grass snake"),
    choice("From the diagram, what is F?", "D", "stem", "petal", "sepal", "none of the above"),
    choice("How many arrows leave the box?", "A", "4", "2", "1", "3"),
    choice("Which stage comes after B?", "C", "A", "E", "C", "F"),
)
GENERATED = (
    choice("Is the picture sharp?", "A", "Yes", "No"),
    choice("Which object is made of glass?", "C", "The vase", "The table", "The bottle"),
    choice("How is the lighting of the picture?", "B", "Bright", "Dark", "Medium"),
    choice("Is the dog's fur generated well?", "B", "Yes", "No"),
    choice("What is the main problem?", "D", "Noise", "Blur", "Overexposure", "Underexposure"),
    choice(
        "Which prompt fits best?",
        "A",
        "a red cube on a blue sphere",
        "a blue cube on a red sphere",
        "two cubes",
        "a sphere",
    ),
)
KNOWLEDGE = (
    choice("What is the train carrying?", "D", "people", "cows", "grain", "coal"),
    choice("What sport is played here?", "B", "golf", "tennis", "football", "baseball"),
    choice("Which season is it?", "A", "winter", "summer", "spring", "fall"),
    choice("What might the boy eat next?", "C", "cake", "pie", "pizza", "ice cream"),
    choice("What is the cup used for?", "B", "tea", "coffee", "juice", "water"),
    choice("Why is the street wet?", "D", "flood", "leak", "snow melts", "rain"),
)
BEAUTY = (
    choice("How is the composition?", "A", "Balanced", "Unbalanced", "Symmetrical", "Crowded"),
    choice("Which emotion does it raise?", "C", "Joy", "Anger", "Awe", "Fear"),
    choice("Is the depth of field shallow?", "B", "No", "Yes"),
    choice("How is the aesthetic quality?", "D", "Low", "Medium", "Cannot be judged", "High"),
    choice("What draws the eye?", "B", "The sky", "The red boat", "The red house", "The boat"),
    choice("Which light is it?", "A", "Back light", "Front light", "Side light"),
)
PERCEPTION = (
    choice("Which image is like the first?", "A", "the second image", "the third image"),
    choice("Which point is closer to the camera?", "B", "A is closer", "B is closer"),
    choice("How many blue cars are there?", "C", "0", "1", "2", "3"),
    choice("Which piece is missing?", "B", "the second image", "the third image"),
    choice("Which point corresponds to REF?", "D", "Point A", "Point B", "Point C", "Point D"),
    choice("Is the car beside the tree?", "A", "yes", "no"),
)
CHINESE = (
    choice("图中的建筑是什么？", "B", "故宫", "天坛", "长城", "颐和园"),
    choice("这道菜来自哪里？", "C", "四川", "广东", "湖南", "北京"),
    choice("图中有几个人？", "A", "3", "1", "2", "5"),
    choice("这幅画的作者是谁？", "D", "齐白石", "张大千", "徐悲鸿", "以上都不是"),
    choice("这件文物是什么？", "B", "青花瓷瓶", "青铜鼎", "玉佩", "陶俑"),
    choice("他在做什么？", "A", "写字", "画画", "喝茶", "读书"),
)
SPACE = (
    choice("How many organs are in the image?", "C", "3", "2", "1", "0"),
    choice("Where is the lamp with respect to the bed?", "A", "above", "below"),
    choice("Which object is closer to the camera?", "B", "table", "chair"),
    choice("How many chairs are there?", "E", "1", "2", "3", "4", "more than 4", "none"),
    choice("Which way does the front wheel face?", "C", "Left", "Straight", "Right"),
    choice("Where is the dog?", "D", "left of the car", "right of the car", "in front of it", "behind the car"),
)
NUMBERS = (*SPACE[:3], choice("How many lanes are there?", "E", "1", "2", "3", "4", "5", "6"))
"""The fifth column of options holds nothing but a number."""
MEDICINE = (
    choice("What is the abnormality?", "C", "Edema", "Fracture", "Mass", "Effusion", "None seen"),
    choice("Which organ is shown?", "A", "Liver", "Kidney", "Spleen", "Heart", "Lung"),
    choice("Which drug is given next?", "E", "Aspirin", "Heparin", "Warfarin", "Insulin", "Metformin"),
    choice(
        "A 54-year-old man has chest pain. What now?",
        "B",
        "Discharge",
        "Coronary angiography",
        "Angiography of the leg",
        "Reassurance",
        "Antibiotics",
    ),
    choice("Which vitamin is missing?", "D", "Vitamin C", "Vitamin B12", "Vitamin K", "Vitamin A", "Vitamin D"),
    choice("What does the arrow show?", "B", "A nerve", "An artery", "A vein", "Bone", "Fat"),
)
ABILITIES = (
    choice("Which colour is the left square?", "B", "red", "green", "blue"),
    choice("Who has the highest score?", "C", "Ann", "Anna", "Joanna", "Tom"),
    choice("Which is right?", "A", "The cup is full.", "The cup is empty."),
    choice("How many people smile?", "D", "1", "2", "3", "4"),
    choice("Which animal is it?", "A", "A cat", "A dog", "A cow", "A goat"),
    choice("What will the boy do?", "B", "jump", "dive into the pool", "leave", "sleep"),
)
TASKS = (
    choice("Which box holds the car?", "C", "[10, 20, 30, 40]", "[5, 5, 50, 60]", "[12, 14, 80, 90]", "[1, 2, 3, 4]"),
    choice("Please retrieve the most similar person.", "B", "Candidate 1", "Candidate 2", "Candidate 3", "Candidate 4"),
    choice(
        "Which emotion is it?",
        "H",
        "anger",
        "fear",
        "joy",
        "sadness",
        "surprise",
        "disgust",
        "contempt",
        "neutral",
        "awe",
    ),
    choice("What is the code?", "A", "print(1)", "print(2)", "return 1", "x = 1"),
    choice("Is the image anomalous?", "B", "yes", "no"),
    choice("Which word is written?", "G", "cat", "cap", "car", "can", "cab", "cup", "cut"),
)
PAIRS = (
    choice("Are the wings closer to being open or closed?", "A", "Open", "Closed"),
    choice("Is the dog facing left or right?", "B", "Left", "Right"),
    choice("Do you see the window of the truck?", "B", "Yes", "No"),
    choice("Is there one keyboard or are there two?", "A", "One", "Two"),
    choice("Is the door shut?", "A", "Yes", "No"),
    choice("Where is the yellow head?", "B", "Lying on the floor", "Not lying on the floor"),
)
MANY_IMAGES = (
    choice("Which comes first? <image> <image>", "A", "the first", "the second", "None of the choices provided"),
    choice("How do they differ? <image> <image>", "C", "colour", "size", "None of the choices provided", "shape"),
    choice("Which of <image> <image> shows a cat?", "B", "<image 1>", "<image 2>", "both", "none"),
    choice("In which order?", "D", "1, 2, 3", "1, 3, 2", "2, 1, 3", "3, 1, 2"),
    choice("Which slide shows growth?", "A", "Slide A", "Slide B", "Slide C", "Slide D"),
    choice("How many views are there?", "E", "1", "2", "3", "4", "5"),
)
SCIENCE = (
    choice("What is the expected ratio of offspring?", "B", "0:4", "2:2", "3:1", "4:0", "1:3"),
    choice(
        "Which solution has a higher concentration?",
        "C",
        "neither; their concentrations are the same",
        "Solution A",
        "Solution B",
    ),
    choice("Does the snowboard slide faster?", "A", "yes", "no"),
    choice("Which of these states is farthest east?", "D", "Utah", "Ohio", "Iowa", "Maine"),
    choice("Which property do they share?", "B", "salty", "stretchy"),
    choice("Which continent is highlighted?", "E", "Asia", "Africa", "Europe", "Australia", "South America"),
)
GENERATOR = (
    choice("How many red metallic spheres are there?", "C", "1", "3", "4", "6"),
    choice("What is the object in the top left?", "A", "telephone", "telephone booth", "booth", "television"),
    choice("What is the shape of the blue object?", "D", "cone", "cube", "cylinder", "sphere"),
    choice("Where is the key?", "B", "above", "bottom left", "bottom", "left"),
    choice("What is on the left of the chair?", "B", "Chair", "Table", "Bench", "Stool"),
    choice("Which has the most?", "C", "A bag", "A box", "A basket", "A case"),
)
EXAMS = (
    choice("Qual é o diagnóstico?", "B", "Anemia", "Hepatite B", "Hepatite", "Malária"),
    choice("¿Cuál es el tratamiento?", "C", "Reposo", "Cirugía", "Antibióticos", "Ninguno"),
    choice("最も適切なのはどれか。", "A", "肺炎", "結核", "肺癌", "気胸"),
    choice("Which hepatitis is it?", "D", "Type A", "Type B", "Type C", "Type E"),
    choice("Which dose in mg?", "B", "0.5", "5", "50", "500"),
    choice("מה האבחנה?", "C", "דלקת", "שבר", "גידול", "זיהום"),
)
LANGUAGES = (
    choice("ما لون القبعة؟", "A", "أحمر", "أزرق", "أخضر", "أسود"),
    choice("Сколько кошек на картинке?", "B", "Одна", "Две", "Три", "Четыре"),
    choice("Qual é a cor do carro?", "D", "Azul", "Verde", "Preto", "Vermelho"),
    choice("Resimde kaç kişi var?", "C", "Bir", "İki", "Üç", "Dört"),
    choice("图中是什么动物？", "A", "猫", "狗", "马", "羊"),
    choice("Where is the bus?", "B", "On the left", "On the right"),
)
BRICKS = (
    choice("Which brick comes next? <image 1>", "C", "brick A", "brick B", "brick C", "brick D"),
    choice("How high is the tower?", "B", "2", "3", "4", "5"),
    choice("Which picture is step 3?", "A", "<image 2>", "<image 3>", "<image 4>", "<image 5>"),
    choice("Is the model rotated?", "B", "No", "Yes"),
    choice("Where is the red brick put?", "D", "on the left", "on the right", "behind", "on top"),
    choice("Which is adjacent to the blue brick?", "C", "A", "B", "C", "D"),
)
DETAILS = (
    choice(
        "What is the colour of the glove?",
        "A",
        "The color of the glove is rubber.",
        "The color of the glove is cotton.",
        "The color of the glove is kevlar.",
        "The color of the glove is leather.",
    ),
    choice(
        "Is the bag left of the car?",
        "B",
        "The bag is on the right side of the car.",
        "The bag is on the left side of the car.",
    ),
    choice("What number is on the sign?", "C", "18", "118", "81", "11"),
    choice("What is written on the board?", "D", "OPEN", "CLOSED", "EXIT", "NO EXIT"),
    choice("Which shop is across the street?", "B", "A bakery", "B & B", "C-Store", "D1"),
    choice("What material is the roof?", "A", "Slate", "Tiles", "Straw", "Tin"),
)
EXPERT = (
    choice("What is the cost per unit?", "B", "$6", "$7", "$8", "$9"),
    choice("<image 1> Which chord is it?", "C", "C major", "A minor", "G7", "E minor"),
    choice("Find x.", "A", "x = 2", "x = -2", "2", "x = 1/2"),
    choice("Which organelle is it?", "D", "Nucleus", "Golgi", "Ribosome", "Vacuole", "Lysosome"),
    choice("What is the yield?", "C", "10%", "12%", "15%", "20%"),
    choice("Which artist painted it?", "B", "<image 2>", "<image 3>", "<image 4>", "<image 5>"),
)
TEN = (
    choice(
        "<image 1> Which reaction is it?",
        "J",
        "E1",
        "E2",
        "SN1",
        "SN2",
        "Aldol",
        "Wittig",
        "Heck",
        "Suzuki",
        "Claisen",
        "Diels-Alder",
    ),
    choice("What is the force in N?", "G", "1", "2.5", "5", "10", "15", "20", "25", "50", "75", "100"),
    choice(
        "Which composer is it?",
        "A",
        "Bach",
        "Brahms",
        "Bruckner",
        "Berlioz",
        "Bizet",
        "Bartok",
        "Beethoven",
        "Britten",
        "Barber",
        "Berg",
    ),
    choice(
        "Which is the equilibrium?",
        "I",
        "(Up, Left)",
        "(Up, Right)",
        "(Down, Left)",
        "(Down, Right)",
        "None",
        "A and B",
        "both",
        "mixed",
        "no equilibrium",
        "unknown",
    ),
    choice(
        "Who is the author?",
        "E",
        "I do not know",
        "Kant",
        "Hume",
        "Locke",
        "Mill",
        "Marx",
        "Plato",
        "Rawls",
        "Hegel",
        "Sartre",
    ),
    choice("What is the ratio?", "H", "1:1", "1:2", "1:3", "1:4", "2:3", "3:4", "4:5", "5:6", "6:7", "7:8"),
)

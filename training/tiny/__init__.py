"""The bundled model `snellen/tiny` and the bundled benchmark `eyechart`, made from drawn pictures.

Read in this order: `world` (what a picture holds), `drawing` (pixels), `questions` and `several`
(what can be asked), `prompts` (how it is asked), `eyechart` (the benchmark file); then `wordpieces`
(tokenizer), `network` (architecture), `packing` (batches), `stages` and `train` (the recipe),
`evaluate` and `card` (what came out).
"""

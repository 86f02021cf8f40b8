"""What a benchmark is made of, and what can be guessed of it without looking: counts of words,
options and media, answer positions, shortcuts, and how far text alone gets."""

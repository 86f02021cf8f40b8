"""Duplicates: images, texts and items that stand twice in a data set, in another, or in training
data, and an index of image hashes to find them in."""

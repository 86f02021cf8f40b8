"""Duplicates: pictures, texts and items that stand twice in a data set, in another, or in training
data, and an index of picture hashes to find them in."""

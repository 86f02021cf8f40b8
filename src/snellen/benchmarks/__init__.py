"""What is asked and how it counts.

One file or folder per benchmark family, in folders by what the family is about; what families share
is in `declaration` and `protocol`, and families without code are entries of `data/listed.toml`.
"""

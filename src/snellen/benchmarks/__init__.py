"""What is asked and how it counts.

One file or folder per benchmark family, in folders by what the family is about: a TOML file if it
needs no code of its own, else a module, with the formulas that it alone uses beside it. What
families share is in `declaration` and `protocol`.
"""

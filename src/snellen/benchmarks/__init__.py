"""What is asked and how it counts.

One file or folder per benchmark family; what families share is in `declaration` and `protocol`.
"""

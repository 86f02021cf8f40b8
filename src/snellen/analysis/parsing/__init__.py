"""How well replies are parsed.

Labelled and unread replies, precision and recall of each rule, scoring again by another rule.
"""

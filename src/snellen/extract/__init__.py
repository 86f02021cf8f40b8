"""Reply to answer.

Every parsing rule, and the prompts of the LLM that extracts what no rule can parse; scores are
computed in `scoring`.
"""

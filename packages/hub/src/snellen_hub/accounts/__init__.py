"""Accounts: passwords, tokens, sign-ins, invitations, roles, limits per time, audit."""

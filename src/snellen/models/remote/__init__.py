"""Models behind servers: OpenAI-compatible endpoints, Anthropic's and Google's own."""

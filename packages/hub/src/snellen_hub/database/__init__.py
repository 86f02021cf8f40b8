"""The tables of a hub, its migrations, and sessions on SQLite or PostgreSQL."""

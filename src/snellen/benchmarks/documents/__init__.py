"""Text in pictures: documents, charts, tables, signs and covers."""

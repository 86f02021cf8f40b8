"""Exams, and questions that need knowledge of the world."""

"""Graphs of jobs: definitions, references to results, trigger rules, decisions on nodes."""

"""The commands on results: tables, verdicts, questions, figures, the report.

Read `tables.py` first: it reads a table of a plan and prints it. `answers.py` says how a study went, or what a dry run
would cost; `documents.py` writes figures and the report.

What must stay true: kept and fresh rows print alike (`tests/flows/cli/test_results.py`).
"""

"""From traces to training data: checks, extraction, selection, truncation.

Read `dataset.py` first: it judges every trace (`validation.py`), writes its conversation in the paper's form or as it
was on the wire (`extraction.py`), decides which are kept (`selection.py`) and fits them into a token budget
(`truncation.py`). `suite.py` gates the result.

Equal traces and settings give equal bytes; a pair of contracts loses both traces or none
(`tests/tasks/datasets/test_selection.py`); a truncated trace keeps its opening and its end (`test_truncation.py`).
"""

"""Our server's inside: ragged batches, caches, sampling, HTTP.

Read `model_engine.py` first: one model's queue and batch. `ragged.py` computes rows of any length side by side without
padding, `cache.py` keeps keys and values between turns, `sampling.py` draws by the request's own seed.

What must stay true: a reply depends on its conversation and seed, and on no neighbour in the batch
(`tests/tasks/serving/cpu/test_model_engine.py`).
"""

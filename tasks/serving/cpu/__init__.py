"""The CPU server's inside: ragged batches, caches, sampling, HTTP."""

"""The CPU server's inside: ragged batches over transformers models, caches of conversations, sampling, HTTP."""

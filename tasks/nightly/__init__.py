"""A nightly re-evaluation: what it plays, and its verdict on each model against the study's own episodes."""

"""A nightly re-evaluation: its episodes, and its verdicts on each model."""

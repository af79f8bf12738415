"""From traces to training data: checks, extraction, selection, truncation."""

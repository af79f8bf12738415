"""What several stages share: caching, retrying, progress, runs, attempts, spending, training data, kept results."""

"""Services of every running stage: places on disk, progress, cache keys, environment, limits."""

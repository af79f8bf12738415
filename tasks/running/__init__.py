"""What every stage needs while it runs: places on disk, progress, cache keys, environment, limits."""

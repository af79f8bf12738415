"""A study's runs, attempts, spending and kept results in the warehouse."""

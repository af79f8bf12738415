"""Cases with golden programs: generated, seeded, checked by programs (arXiv 2601.01569, section 4; own words)."""

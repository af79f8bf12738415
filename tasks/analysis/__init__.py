"""Mathematics with a name: tests, intervals and effect sizes on paired rows."""

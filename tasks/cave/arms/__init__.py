"""Five ways to let a model act on a case, and the oracle that plays each of them."""

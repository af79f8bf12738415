"""First seeds of instance sets, which lie apart from each other."""

TRAIN_SEED = 10_000
"""First seed of the training instances of scripted teachers."""
REINFORCEMENT_SEED = 700_000
"""First seed of the instances that reinforcements learn from."""
PLAIN_SEED = 900_000
"""First seed of the instances in the common base's corpus."""
EVALUATION_SEEDS = {
    "easy": 123_456_789,  # the authors'
    "hard": 223_456_789,
    "small": 123_456_789,
    "small_large": 223_456_789,
    "small_costly": 323_456_789,
}
"""First seed of a bucket's fixed evaluation instances, the same in every plan; pilots used others."""

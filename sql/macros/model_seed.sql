-- a training seed that equals itself in a join; imported episodes have none
create or replace macro staging.model_seed(training_seed) as
    coalesce(training_seed, -1)

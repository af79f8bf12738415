-- Table 8: paired comparisons of scores on the bucket that stands for Hard; ours beside Qwen3-8B
select score_comparisons.* exclude (plan_digest, published_split)
from marts.score_comparisons
where score_comparisons.plan_digest = $plan_digest
    and score_comparisons.published_split = 'hard'
order by variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a

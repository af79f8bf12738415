-- one row per bucket of a plan under a variant, base, visibility and header, whose cells are compared with each other
select
    plan_digest, variant, base, visibility, header, bucket,
    -- a bucket is one row even where its episodes disagree: imports may name a scale each
    min(scale) as scale,
    -- the scripts of several contracts play one bucket
    if(base = 'teacher' and min(measured_on) <> max(measured_on), min(scale) || ', scripts', min(measured_on))
        as measured_on,
    -- whether a difference from the published value says anything
    bool_and(measured_on = 'paper, Qwen3-8B') as has_published_model,
    max(published_split) as published_split,
    -- whether the bucket was played as the paper's was, so that a published value may stand beside it
    bool_or(published_setting.variant is not null and published_split is not null) as is_as_published
from marts.episode_metrics
left join staging.published_setting using (variant, visibility, header)
where purpose = 'evaluation'
group by plan_digest, variant, base, visibility, header, bucket
order by plan_digest, variant, base, visibility, header, bucket

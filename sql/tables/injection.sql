-- What injected objects change, a contrast per row: tokens as a ratio, the rest in points, paired by instance and seed
with contrasts as (
    select
        * exclude (train_a, runtime_a, train_b, runtime_b),
        letters[train_a] || '->' || letters[runtime_a] as cell,
        letters[train_b] || '->' || letters[runtime_b] as against
    from main.statistics
    cross join (
        select map(['persistent', 'stateless', 'injected', 'injected+persistent'], ['P', 'S', 'I', 'IP']) as letters
    ) as names
    where plan_digest = $plan_digest
        and comparison_group = 'injection'
        and staging.is_main_interval(interval_kind)
)

select
    variant, base, visibility, header, bucket, measured_on, cell, against, interval_kind,
    max(pair_count) as pair_count,
    max(estimate) filter (metric = 'total_tokens') as token_ratio,
    max(low) filter (metric = 'total_tokens') as token_ratio_low,
    max(high) filter (metric = 'total_tokens') as token_ratio_high,
    100 * max(estimate) filter (metric = 'score') as score_points,
    100 * max(low) filter (metric = 'score') as score_points_low,
    100 * max(high) filter (metric = 'score') as score_points_high,
    100 * max(estimate) filter (metric = 'has_missing_name') as missing_name_points,
    100 * max(low) filter (metric = 'has_missing_name') as missing_name_points_low,
    100 * max(high) filter (metric = 'has_missing_name') as missing_name_points_high,
    -- as trained, prompts tell of the runtime of training alone
    case
        when visibility <> 'as_trained' then null
        when (cell, against) in (('P->I', 'P->S'), ('P->IP', 'P->P'), ('S->I', 'S->S'))
            then 'fixed by construction: no prompt tells of the frame'
        when cell in ('I->I', 'IP->IP') and against in ('P->P', 'S->S', 'I->I') then 'the same episodes as declared'
    end as remark
from contrasts
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
where (analysis = 'ratio' and metric = 'total_tokens')
    or (analysis = 'difference' and metric in ('score', 'has_missing_name'))
group by all
order by variant, base desc, visibility desc, header, bucket, cell, against, interval_kind

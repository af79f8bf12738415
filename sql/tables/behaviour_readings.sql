-- Behaviour per cell under every reading of appendix F
with final as (
    select
        reading_means.condition as cell,
        reading_means.* exclude (plan_digest, condition)
    from marts.reading_means
    where reading_means.plan_digest = $plan_digest
)

select * from final
order by variant, base, visibility, header, bucket, model desc, cell, is_default desc, reading

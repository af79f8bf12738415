-- Failure classes per cell under every reading of appendix D.3: thresholds crossed, then the named variants
with final as (
    select
        failure_counts.variant,
        failure_counts.base,
        failure_counts.visibility,
        failure_counts.header,
        failure_counts.bucket,
        failure_counts.model,
        failure_counts.condition as cell,
        failure_counts.measured_on,
        failure_counts.reading,
        failure_counts.is_sensitivity,
        failure_counts.is_default,
        failure_counts.optimal_count,
        failure_counts.violation_count,
        failure_counts.instability_count,
        failure_counts.silent_suboptimality_count,
        failure_counts.unclassified_count,
        failure_counts.not_normally_ended_count
    from marts.failure_counts
    where failure_counts.plan_digest = $plan_digest
)

select * from final
order by variant, base, visibility, header, bucket, model desc, cell, is_sensitivity desc, reading

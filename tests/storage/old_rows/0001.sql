-- Rows as schema version 1 held them.
insert into main.runs by name
select
    'first' as run_id,
    'run_study' as flow,
    'smoke' as plan_name,
    'digest' as plan_digest,
    'smoke' as scale,
    '{}' as plan_json,
    '{}' as environment_json,
    timestamptz '2026-01-01 00:00:00+00' as started_at;

insert into main.steps by name
select
    'first' as run_id,
    'old' as episode_id,
    step,
    step as turn,
    code,
    '' as output,
    null as result,
    null as error,
    null as error_kind,
    null as error_type,
    true as is_parsed,
    0 as import_count,
    0 as call_site_count,
    0 as executed_call_count,
    []::varchar[] as active_globals_before,
    ['total'] as active_globals,
    ['total'] as last_step_globals,
    'kept' as state_event,
    null as state_hash,
    null as injected_fault,
    0.01 as execution_seconds
from (values (1, 'total = 0'), (2, 'finish()')) as executed(step, code);

insert into main.statistics by name
select
    'first' as run_id,
    method as statistic_id,
    'digest' as plan_digest,
    'main' as variant,
    'common' as base,
    'declared' as visibility,
    'names' as header,
    'small' as bucket,
    analysis,
    '' as comparison_group,
    'score' as metric,
    2 as pair_count,
    method
from (
    values
        ('mean', 'bootstrap percentile, 5000 resamples of 2 instances'),
        ('mean', 'bootstrap BCa, 5000 resamples of 2 instances'),
        ('equivalence', 'equivalence, two one-sided paired t-tests'),
        ('equivalence', 'equivalence, bootstrap percentile, 5000 resamples of 2 training seeds x 2 instances'),
        ('replicate_rejections', 'share of tests, exact binomial interval'),
        ('wilcoxon', 'wilcoxon signed-rank, exact')
) as computed (analysis, method);

-- What the second version remembered of the bundles that it took in and refused.
insert into main.merged_bundles by name
select
    'taken' as bundle_id,
    'first' as run_id,
    'elsewhere' as landing_url,
    3 as row_count,
    timestamptz '2026-01-01 00:00:00+00' as merged_at;

insert into main.quarantine by name
select
    'elsewhere' as landing_url,
    'steps/torn.parquet' as path,
    'file missing' as reason,
    timestamptz '2026-01-01 00:00:00+00' as quarantined_at;

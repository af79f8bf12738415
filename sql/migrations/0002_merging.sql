-- What the merger remembers: bundles taken in, files refused, and what the marts were computed from.
create table main.merged_bundles (
    bundle_id varchar not null,
    run_id varchar not null,
    landing_url varchar not null,
    row_count bigint not null,
    merged_at timestamptz not null
);

create table main.quarantine (
    landing_url varchar not null,
    path varchar not null,
    reason varchar not null,
    quarantined_at timestamptz not null
);

create table main.refreshed_marts (
    sql_digest varchar not null,
    bundle_count bigint not null,
    refreshed_at timestamptz not null
);

create schema staging;

create schema marts;

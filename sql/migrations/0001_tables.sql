-- What the merger remembers; the other tables of `main` are those of the row models (storage/zone/schemas.py).
create table main.merged_bundles (
    bundle_id varchar not null primary key,
    run_id varchar not null,
    landing_url varchar not null,
    row_count bigint not null,
    merged_at timestamptz not null
);

create table main.latest_bundles (
    table_name varchar not null,
    row_key varchar[] not null,
    bundle_id varchar not null
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

create schema published;

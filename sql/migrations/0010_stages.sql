-- What each plan has of a stage, and which episodes of other plans it reuses.
alter table main.episodes add column stage_digest varchar;

create table main.plan_stages (
    run_id varchar not null,
    plan_digest varchar not null,
    stage varchar not null,
    name varchar not null,
    stage_digest varchar not null,
    result_json varchar
);

create table main.reused_episodes (
    run_id varchar not null,
    plan_digest varchar not null,
    episode_id varchar not null
);

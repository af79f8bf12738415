-- Whether a plan has trainings to show, and the warehouse a comparison of suites.
select
    exists(
        select 1
        from training_examples
        inner join staging.plan_episodes on training_examples.episode_id = plan_episodes.episode_id
        where plan_episodes.plan_digest = $plan_digest
    ) as has_training,
    exists(select 1 from cave_turns) as has_suites
order by has_training

-- Ids of the latest runs.
select run_id from runs order by started_at desc limit 5

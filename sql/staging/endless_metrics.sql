-- one row per metric on which a verdict needs no pairs that ended: missing names and state use; ours
select metric
from (values ('has_missing_name'), ('missing_name_count'), ('state_utilization')) as metrics (metric)
order by metric

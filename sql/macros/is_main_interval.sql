-- whether an interval is the one that tables print: percentile, or t where the unit of analysis is the training seed
create or replace macro staging.is_main_interval(interval_kind) as
    interval_kind in ('percentile', 't over seeds')

-- A claim in words.
insert into main.claims by name
select
    'first' as run_id,
    'S' as paper,
    'matched' as claim,
    '4.1.1' as place,
    'matched' as published,
    'unmatched' as recomputed,
    'overstated' as verdict,
    'words' as no_tolerance_reason,
    'kept sets differ' as note;

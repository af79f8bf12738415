-- an error in the first step of three episodes in ten: a missing name, or a tool's that the block caught
select
    'run' as run_id,
    'e' || number as episode_id,
    1 as turn,
    0 as error_index,
    1 as step,
    if(hash(number) % 2 = 0, 'interpreter', 'tool') as kind,
    if(hash(number) % 2 = 0, 'NameError', 'ValueError') as error_type,
    if(hash(number) % 2 = 0, 'name ''ids'' is not defined', 'item a exceeds capacity') as message,
    hash(number) % 2 = 1 as is_caught,
    false as is_injected,
    hash(number) % 2 = 0 as is_missing_name,
    false as is_injected_missing_name
from range($first, $last) as numbers (number)
where hash(number) % 10 < 3

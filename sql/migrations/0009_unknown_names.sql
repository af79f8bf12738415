-- Imported steps from before said that the interpreter was kept, though nothing told which names it held.
update main.steps
set state_event = 'unknown'
where episode_id in (select episode_id from main.episodes where backend = 'imported' and runtime_contract <> 'stateless');

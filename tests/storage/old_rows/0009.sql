-- An imported trace of the ninth version: nothing told which names its interpreter held.
update main.steps set state_event = 'unknown' where episode_id = 'foreign';

-- Which loop played an episode; rows from before are the study's.
alter table main.episodes add column agent varchar;

update main.episodes
set agent = 'study';

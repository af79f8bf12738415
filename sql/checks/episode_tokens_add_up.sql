-- episodes whose tokens are not the sums over their turns, whose total is not that of its parts,
-- or with more cached than sent
with summed_turns as (
    select
        episode_id,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(cached_prompt_tokens)::bigint as cached_prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens
    from main.turns
    group by all
)

select
    episodes.episode_id, episodes.prompt_tokens,
    coalesce(summed_turns.prompt_tokens, 0) as turn_prompt_tokens,
    episodes.cached_prompt_tokens,
    coalesce(summed_turns.cached_prompt_tokens, 0) as turn_cached_prompt_tokens,
    episodes.completion_tokens,
    coalesce(summed_turns.completion_tokens, 0) as turn_completion_tokens
from main.episodes
left join summed_turns using (episode_id)
where episodes.cached_prompt_tokens > episodes.prompt_tokens
    or episodes.total_tokens <> episodes.prompt_tokens + episodes.completion_tokens
    -- foreign traces may know the tokens of an episode only
    or (
        episodes.token_source <> 'imported'
        and (episodes.prompt_tokens, episodes.cached_prompt_tokens, episodes.completion_tokens)
        <> (turn_prompt_tokens, turn_cached_prompt_tokens, turn_completion_tokens)
    )
order by episode_id

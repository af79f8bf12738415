-- one row per teacher at a scale: what heads its columns beside those of Gemini 3 Flash, the paper's teacher
with teachers as (
    select distinct
        scale, model_name,
        -- arXiv 2603.01209, section 4.1, under the names that endpoints give it
        regexp_matches(model_name, '^(.*/)?gemini-3-flash(-preview)?$') as is_published_teacher
    from marts.episode_metrics
    where purpose = 'teacher'
)

select
    scale, model_name,
    case
        when scale = 'import' and model_name = 'imported' then 'imported rows'
        when scale = 'import' then 'imported rows, ' || model_name
        when is_published_teacher then scale || ', Gemini 3 Flash'
        when model_name = 'scripted' then scale || ', not Gemini 3 Flash'
        else scale || ', ' || model_name
    end as measured_on,
    -- whether a difference from the published value says anything
    scale = 'paper' and is_published_teacher as is_as_published
from teachers
order by scale, model_name

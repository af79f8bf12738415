-- one row per teacher at a scale: what heads its columns beside those of Gemini 3 Flash, the paper's teacher
with teachers as (
    select distinct
        scale, model_name,
        -- arXiv 2603.01209, section 4.1, under the names that endpoints give it
        regexp_matches(episode_metrics.model_name, '^(.*/)?gemini-3-flash(-preview)?$') as is_published_teacher
    from marts.episode_metrics
    where episode_metrics.purpose = 'teacher'
)

select
    scale, model_name,
    case
        when teachers.scale = 'import' and teachers.model_name = 'imported' then 'imported rows'
        when teachers.scale = 'import' then 'imported rows, ' || teachers.model_name
        when teachers.is_published_teacher then teachers.scale || ', Gemini 3 Flash'
        when teachers.model_name = 'scripted' then teachers.scale || ', not Gemini 3 Flash'
        else teachers.scale || ', ' || teachers.model_name
    end as measured_on,
    -- whether a difference from the published value says anything
    teachers.scale = 'paper' and teachers.is_published_teacher as is_as_published
from teachers
order by scale, model_name

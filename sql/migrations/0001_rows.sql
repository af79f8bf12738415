-- Rows of the study and of its episodes; the columns are those of tasks/traces/rows.py and study_rows.py.
create table main.runs (
    run_id varchar not null,
    flow varchar not null,
    plan_name varchar not null,
    plan_digest varchar not null,
    scale varchar not null,
    plan_json varchar not null,
    environment_json varchar not null,
    started_at timestamptz not null
);

create table main.run_ends (
    run_id varchar not null,
    status varchar not null,
    message varchar not null,
    finished_at timestamptz not null
);

create table main.instances (
    run_id varchar not null,
    instance_id varchar not null,
    split varchar not null,
    bucket varchar not null,
    task_id varchar not null,
    seed bigint not null,
    item_count bigint not null,
    capacity bigint not null,
    inspection_budget bigint not null,
    class_universe varchar[] not null,
    allowed_classes varchar[] not null,
    optimal_item_ids varchar[] not null,
    optimal_value bigint not null,
    optimal_weight bigint not null,
    spec_json varchar not null
);

create table main.items (
    run_id varchar not null,
    instance_id varchar not null,
    item_id varchar not null,
    weight bigint not null,
    value bigint not null,
    item_class varchar not null,
    is_allowed boolean not null,
    is_optimal boolean not null
);

create table main.trace_verdicts (
    run_id varchar not null,
    validation_digest varchar not null,
    episode_id varchar not null,
    contract varchar not null,
    instance_id varchar not null,
    replicate bigint not null,
    is_valid boolean not null,
    reason varchar,
    measured double,
    threshold double,
    recorded_step_count bigint not null,
    result_count bigint not null,
    score double,
    finish_call_count bigint not null,
    loop_similarity double,
    error_density double
);

create table main.training_examples (
    run_id varchar not null,
    dataset_id varchar not null,
    variant varchar not null,
    contract varchar not null,
    episode_id varchar not null,
    instance_id varchar not null,
    position bigint not null,
    status varchar not null,
    reason varchar,
    measured double,
    threshold double,
    token_count bigint,
    assistant_token_count bigint,
    message_count bigint,
    is_truncated boolean not null,
    text_format varchar not null,
    retention varchar not null,
    matching varchar not null,
    content_digest varchar
);

create table main.training_runs (
    run_id varchar not null,
    training_run_id varchar not null,
    dataset_id varchar not null,
    variant varchar not null,
    contract varchar,
    base varchar not null,
    training_seed bigint not null,
    base_model varchar not null,
    model_digest varchar not null,
    output_path varchar not null,
    parameter_count bigint not null,
    trained_parameter_count bigint not null,
    token_count bigint not null,
    step_count bigint not null,
    final_loss double not null,
    settings_json varchar not null,
    device varchar not null,
    wall_seconds double not null,
    started_at timestamptz not null
);

create table main.training_metrics (
    run_id varchar not null,
    training_run_id varchar not null,
    optimizer_step bigint not null,
    epoch double not null,
    loss double not null,
    learning_rate double not null,
    gradient_norm double,
    token_count bigint not null,
    wall_seconds double not null
);

create table main.check_results (
    run_id varchar not null,
    check_run_id varchar not null,
    suite varchar not null,
    check_name varchar not null,
    is_passed boolean not null,
    row_count bigint not null,
    unexpected_count bigint not null,
    threshold_json varchar not null,
    unexpected_json varchar not null,
    checked_at timestamptz not null
);

create table main.statistics (
    run_id varchar not null,
    statistic_id varchar not null,
    plan_digest varchar not null,
    variant varchar not null,
    base varchar not null,
    visibility varchar not null,
    header varchar not null,
    bucket varchar not null,
    analysis varchar not null,
    comparison_group varchar not null,
    metric varchar not null,
    train_a varchar,
    runtime_a varchar,
    train_b varchar,
    runtime_b varchar,
    pair_count bigint not null,
    nonzero_count bigint,
    mean_a double,
    mean_b double,
    estimate double,
    low double,
    high double,
    confidence double,
    statistic double,
    p_value double,
    p_holm double,
    effect_size double,
    effect_size_authors double,
    verdict varchar,
    method varchar not null,
    note varchar
);

create table main.claims (
    run_id varchar not null,
    paper varchar not null,
    claim varchar not null,
    place varchar not null,
    published varchar,
    recomputed varchar,
    tolerance double,
    verdict varchar not null
);

create table main.episodes (
    run_id varchar not null,
    episode_id varchar not null,
    plan_digest varchar not null,
    scale varchar not null,
    purpose varchar not null,
    variant varchar not null,
    base varchar not null,
    model_name varchar not null,
    model_digest varchar,
    train_contract varchar,
    runtime_contract varchar not null,
    shown_contract varchar not null,
    visibility varchar not null,
    header varchar not null,
    bucket varchar not null,
    split varchar not null,
    is_out_of_distribution boolean not null,
    instance_id varchar not null,
    training_seed bigint,
    replicate bigint not null,
    attempt bigint not null,
    tool_call_cap bigint,
    max_turns bigint not null,
    finish_reason varchar not null,
    score double,
    is_solved boolean not null,
    value_taken bigint not null,
    weight_taken bigint not null,
    taken_count bigint not null,
    inspected_count bigint not null,
    turn_count bigint not null,
    step_count bigint not null,
    call_site_count bigint not null,
    executed_call_count bigint not null,
    prompt_tokens bigint not null,
    cached_prompt_tokens bigint not null,
    completion_tokens bigint not null,
    token_source varchar not null,
    training_tokens bigint,
    injected_fault_count bigint not null,
    model_seconds double not null,
    execution_seconds double not null,
    wall_seconds double not null,
    started_at timestamptz not null,
    contract_json varchar not null,
    sandbox_level varchar not null,
    backend varchar not null,
    is_contract_verified boolean not null,
    error_message varchar
);

create table main.turns (
    run_id varchar not null,
    episode_id varchar not null,
    turn bigint not null,
    assistant_text varchar not null,
    observation varchar,
    block_count bigint not null,
    has_system_note boolean not null,
    model_finish_reason varchar not null,
    prompt_tokens bigint not null,
    cached_prompt_tokens bigint not null,
    completion_tokens bigint not null,
    decoding_seed bigint,
    model_seconds double not null,
    active_globals varchar[] not null,
    last_step_globals varchar[] not null
);

create table main.steps (
    run_id varchar not null,
    episode_id varchar not null,
    step bigint not null,
    turn bigint not null,
    code varchar not null,
    output varchar not null,
    result varchar,
    error varchar,
    error_kind varchar,
    error_type varchar,
    is_parsed boolean not null,
    import_count bigint not null,
    call_site_count bigint not null,
    executed_call_count bigint not null,
    active_globals_before varchar[] not null,
    active_globals varchar[] not null,
    last_step_globals varchar[] not null,
    state_event varchar not null,
    state_hash varchar,
    injected_fault varchar,
    execution_seconds double not null
);

create table main.name_events (
    run_id varchar not null,
    episode_id varchar not null,
    step bigint not null,
    sequence bigint not null,
    kind varchar not null,
    name varchar not null,
    line bigint not null,
    is_definition boolean not null,
    is_deferred boolean not null,
    is_live_before boolean not null
);

create table main.tool_calls (
    run_id varchar not null,
    episode_id varchar not null,
    step bigint not null,
    call bigint not null,
    tool varchar not null,
    arguments_json varchar not null,
    result_json varchar,
    error_type varchar,
    error_message varchar,
    is_caught boolean not null,
    is_injected boolean not null,
    seconds double not null
);

create table main.errors (
    run_id varchar not null,
    episode_id varchar not null,
    turn bigint not null,
    error_index bigint not null,
    step bigint,
    kind varchar not null,
    error_type varchar not null,
    message varchar not null,
    is_caught boolean not null,
    is_injected boolean not null,
    is_missing_name boolean not null
);

create table main.runtime_events (
    run_id varchar not null,
    episode_id varchar not null,
    sequence bigint not null,
    step bigint not null,
    kind varchar not null,
    name varchar,
    detail_json varchar
);

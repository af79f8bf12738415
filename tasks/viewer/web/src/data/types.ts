// The values that the pages' paths answer with; their Python side is tasks/viewer/*.py.

export interface Cell {
  variant: string;
  base: string;
  visibility: string;
  header: string;
  bucket: string;
  purpose: string;
  model: string;
  condition: string;
  measured_on: string;
  train_contract: string | null;
  runtime_contract: string;
  episode_count: number;
  ended_count: number;
  solved_count: number;
  missing_name_count: number;
  score_pct: number | null;
  mean_tokens: number | null;
  missing_name_pct: number | null;
  score_pct_low: number | null;
  score_pct_high: number | null;
  mean_tokens_low: number | null;
  mean_tokens_high: number | null;
  missing_name_pct_low: number | null;
  missing_name_pct_high: number | null;
}

export interface Plan {
  plan_digest: string;
  plan_name: string;
  scale: string;
  started_at: string;
}

export interface Study {
  plan_digest: string;
  plan_name: string;
  scale: string;
  started_at: string;
  status: string | null;
  measured_on: string;
  findings: string[];
  cells: Cell[];
  plans: Plan[];
  has_training: boolean;
  has_suites: boolean;
}

export type Piece = [string, string];

export interface ToolCall {
  step: number;
  call: number;
  tool: string;
  arguments_json: string;
  result_json: string | null;
  error_type: string | null;
  error_message: string | null;
  is_caught: boolean;
  is_injected: boolean;
  seconds: number;
}

export interface Step {
  step: number;
  turn: number;
  code: string;
  lines: Piece[][];
  output: string;
  result: string | null;
  error: string | null;
  error_type: string | null;
  state_event: string;
  injected_fault: string | null;
  execution_seconds: number;
  calls: ToolCall[];
}

export interface EpisodeError {
  turn: number;
  step: number | null;
  kind: string;
  error_type: string;
  message: string;
  is_caught: boolean;
  is_injected: boolean;
  is_missing_name: boolean;
}

export interface Turn {
  turn: number;
  assistant_text: string;
  before: string;
  after: string;
  observation: string | null;
  block_count: number;
  model_finish_reason: string;
  prompt_tokens: number;
  cached_prompt_tokens: number;
  completion_tokens: number;
  model_seconds: number;
  active_globals: string[];
  last_step_globals: string[];
  errors: EpisodeError[];
  steps: Step[];
}

export type Mark = "bound" | "rebound" | "read" | "lost" | "missing" | "gone";

export interface LaneCell {
  step: number;
  is_alive: boolean;
  is_kept: boolean;
  marks: Mark[];
}

export interface LaneName {
  name: string;
  is_definition: boolean;
  cells: LaneCell[];
}

export interface MissingName {
  turn: number;
  step: number;
  name: string;
  lost_step: number | null;
  bound_step: number | null;
  is_injected: boolean;
}

export interface Lint {
  verdict: string;
  /** By the number of the step; a step that was read and takes nothing from earlier ones has none. */
  steps: Record<number, { carried: string[]; early_names: string[]; is_judged: boolean }>;
}

export interface EpisodeHead {
  episode_id: string;
  plan_digest: string;
  plan_name: string;
  run_id: string;
  condition: string | null;
  model: string | null;
  model_name: string;
  variant: string;
  base: string;
  bucket: string;
  visibility: string;
  header: string;
  instance_id: string;
  training_seed: number | null;
  replicate: number;
  runtime_contract: string;
  shown_contract: string;
  train_contract: string | null;
  finish_reason: string;
  failure_class: string | null;
  error_message: string | null;
  score: number | null;
  turn_count: number;
  step_count: number;
  total_tokens: number | null;
  prompt_tokens: number;
  completion_tokens: number;
  max_turns: number;
  max_tokens: number | null;
  tool_call_cap: number | null;
  missing_name_count: number | null;
  wall_seconds: number;
  model_seconds: number;
  execution_seconds: number;
  sandbox_level: string;
  backend: string;
  is_contract_verified: boolean;
  inspected_count: number;
  inspection_budget: number | null;
  capacity: number | null;
  weight_taken: number;
  value_taken: number;
  optimal_value: number | null;
  started_at: string;
}

export interface Message {
  role: string;
  content: string;
}

export interface Episode {
  episode: EpisodeHead;
  contract: Record<string, unknown>;
  opening: Message[];
  turns: Turn[];
  lane: LaneName[];
  missing: MissingName[];
  lint: Lint;
  runtime_events: Record<string, unknown>[];
}

/** Base64 of the bytes of a typed array. */
export interface PackedNumbers {
  kind: "int8" | "int16" | "int32" | "float64";
  data: string;
}

export interface PackedWords {
  values: string[];
  codes: PackedNumbers;
}

export interface EpisodeColumns {
  count: number;
  /** Ids are a list. */
  columns: Record<string, PackedWords | PackedNumbers | string[]>;
}

export interface RunPage {
  run: Record<string, unknown>;
  plan: unknown;
  environment: unknown;
}

export interface Sheet {
  caption: string;
  header: string[];
  styles: string[];
  rows: string[][];
}

export interface Table {
  name: string;
  title: string;
  sheets: Sheet[];
}

export interface TablesPage {
  tables: Table[];
}

export interface Drawing {
  name: string;
  caption: string;
  svg: string;
  setting: string;
}

export interface FiguresPage {
  figures: Drawing[];
}

export interface TrainingRun {
  training_run_id: string;
  variant: string;
  base: string;
  contract: string | null;
  training_seed: number;
  base_model: string;
  parameter_count: number;
  trained_parameter_count: number;
  token_count: number;
  step_count: number;
  final_loss: number;
  device: string;
  wall_seconds: number;
}

export interface ExampleGroup {
  variant: string;
  contract: string;
  status: string;
  reason: string | null;
  episode_count: number;
  token_count: number | null;
  threshold: number | null;
  measured_low: number | null;
  measured_high: number | null;
  episode_ids: string[];
}

export type Curve = Record<string, (number | null)[]>;

export interface TrainingPage {
  runs: TrainingRun[];
  curves: Record<string, Curve>;
  examples: ExampleGroup[];
}

export interface SuiteTurn {
  suite: string;
  tier: string;
  case_id: string;
  question: number;
  arm: string;
  instruction: string;
  model_name: string;
  is_oracle: boolean;
  replicate: number;
  size: number;
  reply_count: number;
  call_count: number;
  prompt_tokens: number;
  completion_tokens: number;
  finish_reason: string;
  is_state_right: boolean;
  has_required_calls: boolean;
  is_passed: boolean;
  /** Names whose state is wrong, calls that are missing, and reasons. */
  wrong: string[];
  /** Empty where the comparison did not keep it. */
  states: CheckedState[];
  answer: string;
  episode_id: string;
}

/** A name that a case checks. */
export interface CheckedState {
  name: string;
  is_wrong: boolean;
  expected: StateSide;
  found: StateSide;
}

export interface StateSide {
  /** JSON; empty for a name that is not there. */
  text: string;
  /** What a chart draws; null for anything else. */
  series: Series[] | null;
}

export interface Series {
  kind: string;
  /** `[category, value]`, `[x, y]` or a value; a candlestick's value is open, close, lowest and highest. */
  points: Json[];
  axes: [number, number];
  stacked_on: number[];
}

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

export interface SuitesPage {
  turns: SuiteTurn[];
}

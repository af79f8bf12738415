import { useState } from "preact/hooks";
import type { Episode, EpisodeError, Step, ToolCall, Turn } from "../data/types";
import { count, fate, plural, seconds, visible, words } from "../format";
import { link } from "../route";
import { Code, Shortened, Text } from "./code";

interface Props {
  page: Episode;
  turn: Turn;
  isCurrent: boolean;
  isRaw: boolean;
  /** Classes of the code's lines by step, where a comparison marks them. */
  lineMarks?: Map<number, string[]>;
  /** What tells ids apart where two episodes are on one page. */
  prefix?: string;
}

/** A reply, its blocks, and what came back. */
export function TurnView({ page, turn, isCurrent, isRaw, lineMarks, prefix = "" }: Props) {
  const hasError = turn.errors.some((error) => !error.is_caught);
  return (
    <article class={`turn ${isCurrent ? "current" : ""} ${hasError ? "failed" : ""}`} id={`${prefix}turn-${turn.turn}`} tabIndex={-1} aria-label={`Turn ${turn.turn}`}>
      <TurnHead page={page} turn={turn} />
      {isRaw ? <Text class="raw" text={JSON.stringify(withoutLines(turn), null, 2)} /> : <TurnBody page={page} turn={turn} lineMarks={lineMarks} prefix={prefix} />}
    </article>
  );
}

function TurnHead({ page, turn }: { page: Episode; turn: Turn }) {
  const { backend, max_turns, max_tokens } = page.episode;
  const spent = page.turns.filter((each) => each.turn <= turn.turn).reduce((sum, each) => sum + tokensOf(each), 0);
  const inspections = inspectionsLeft(page, turn);
  const time = turn.model_seconds + turn.steps.reduce((sum, step) => sum + step.execution_seconds, 0);
  return (
    <header>
      <h3><a href={link(["episode", page.episode.episode_id], { turn: turn.turn })}>Turn {turn.turn}</a></h3>
      <dl>
        {tokensOf(turn) > 0 && <div><dt>tokens</dt><dd>{count(turn.prompt_tokens)} + {count(turn.completion_tokens)}</dd></div>}
        {time > 0 && <div><dt>time</dt><dd>{seconds(time)}</dd></div>}
        {backend !== "imported" && <div><dt>turns left</dt><dd>{count(Math.max(0, max_turns - turn.turn))}</dd></div>}
        {max_tokens !== null && <div><dt>tokens left</dt><dd>{count(Math.max(0, max_tokens - spent))}</dd></div>}
        {inspections !== null && <div><dt>inspections left</dt><dd>{count(inspections)}</dd></div>}
        {turn.model_finish_reason !== "stop" && turn.model_finish_reason !== "" && <div><dt>reply ended by</dt><dd>{words(turn.model_finish_reason)}</dd></div>}
      </dl>
    </header>
  );
}

/** What is left of an instance's inspection budget after a turn: an item's first inspection costs one. */
function inspectionsLeft(page: Episode, turn: Turn): number | null {
  if (page.episode.inspection_budget === null) return null;
  const before = page.turns.filter((each) => each.turn <= turn.turn);
  const calls = before.flatMap((each) => each.steps.flatMap((step) => step.calls));
  const made = calls.filter((call) => call.tool === "inspect" && call.error_type === null);
  return page.episode.inspection_budget - new Set(made.map((call) => call.arguments_json)).size;
}

export const tokensOf = (turn: Turn) => turn.prompt_tokens + turn.completion_tokens;

interface BodyProps {
  page: Episode;
  turn: Turn;
  lineMarks: Props["lineMarks"];
  prefix: string;
}

function TurnBody({ page, turn, lineMarks, prefix }: BodyProps) {
  const isTold = turn.observation !== null && turn.steps.length < 2;
  const shown = new Set(turn.steps.map((step) => step.error));
  const others = turn.errors.filter((error) => error.is_caught || error.step === null || !shown.has(error.message));
  return (
    <>
      {turn.before !== "" && <Text class="reflection" text={turn.before} />}
      {turn.steps.map((step) => <StepView page={page} step={step} marks={lineMarks?.get(step.step)} prefix={prefix} isTold={isTold} key={step.step} />)}
      {turn.after !== "" && <Text class="after" text={turn.after} />}
      {others.map((error, place) => <ErrorLine error={error} key={place} />)}
      {turn.observation !== null && <Observation turn={turn} />}
      <Header turn={turn} />
    </>
  );
}

interface StepProps {
  page: Episode;
  step: Step;
  marks: string[] | undefined;
  prefix: string;
  /** Whether the observation tells what came back, so that the step need not. */
  isTold: boolean;
}

function StepView({ page, step, marks, prefix, isTold }: StepProps) {
  const missing = page.missing.filter((each) => each.step === step.step);
  return (
    <section class="step" id={`${prefix}step-${step.step}`} aria-label={`Step ${step.step}`}>
      <p class="label">step {step.step}{step.injected_fault !== null && <em> injected fault: {step.injected_fault}</em>}</p>
      <Code lines={step.lines} marks={marks ?? []} />
      <StepLint page={page} step={step.step} />
      {step.calls.length > 0 && <Calls calls={step.calls} />}
      {!isTold && step.output !== "" && <Text class="output" text={step.output} />}
      {!isTold && step.result !== null && <Text class="output" text={step.result} />}
      {missing.map((each) => (
        <p class="missing" key={each.name}>
          <b>{each.name}</b> is missing: {fate(each)}.
        </p>
      ))}
      {step.error !== null && <Text class="error" text={step.error} />}
      {step.state_event === "lost" && <p class="missing">The interpreter was lost with every name.</p>}
      {step.state_event === "rolled_back" && <p class="missing">The interpreter went back to before this step.</p>}
    </section>
  );
}

/** What the code takes from earlier blocks, read without running it. */
function StepLint({ page, step }: { page: Episode; step: number }) {
  const found = page.lint.steps[step];
  if (found === undefined) return null;
  return (
    <p class="lint">
      {!found.is_judged && "not judged: the lint cannot read this code"}
      {!found.is_judged && found.carried.length + found.early_names.length > 0 && "; "}
      {found.carried.length > 0 && <>takes <b>{found.carried.join(", ")}</b> from earlier steps</>}
      {found.carried.length > 0 && found.early_names.length > 0 && "; "}
      {found.early_names.length > 0 && <>uses <b>{found.early_names.join(", ")}</b> before any step binds it</>}
    </p>
  );
}

function Calls({ calls }: { calls: ToolCall[] }) {
  const failed = calls.filter((call) => call.error_type !== null).length;
  return (
    <details class="calls">
      <summary>{plural(calls.length, "tool call")}{failed > 0 && <em>, {failed} failed</em>}</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Tool calls">
        <table>
          <thead><tr><th>tool</th><th>arguments</th><th>reply</th><th>time</th></tr></thead>
          <tbody>
            {calls.map((call) => (
              <tr class={call.error_type === null ? undefined : "failed"} key={call.call}>
                <td>{visible(call.tool)}</td>
                <td><Text class="value" text={call.arguments_json} /></td>
                <td><Text class="value" text={replyOf(call)} /></td>
                <td>{seconds(call.seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** What a reader finds in a turn: its texts, and those of an observation's fields, without escapes. */
export function searchedText(turn: Turn): string {
  const steps = turn.steps.flatMap((step) => [step.code, step.output, step.result, step.error]);
  const calls = turn.steps.flatMap((step) => step.calls.flatMap((call) => [call.tool, call.arguments_json, replyOf(call)]));
  const errors = turn.errors.map((error) => error.message);
  return [turn.assistant_text, ...steps, ...calls, ...errors, turn.observation, ...fieldTexts(turn.observation)].join("\n");
}

function fieldTexts(observation: string | null): unknown[] {
  const value = parsed(observation ?? "");
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).filter((each) => typeof each === "string");
}

function replyOf(call: ToolCall): string {
  if (call.error_type === null) return unquoted(call.result_json ?? "");
  const fate = call.is_caught ? " (caught)" : "";
  return `${call.error_type}: ${call.error_message ?? ""}${fate}${call.is_injected ? " (injected)" : ""}`;
}

/** A JSON string as its text, anything else as it is. */
function unquoted(json: string): string {
  const value = parsed(json);
  return typeof value === "string" ? value : json;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const ErrorLine = ({ error }: { error: EpisodeError }) => (
  <p class={error.is_caught ? "caught" : "missing"}>
    {error.kind} error{error.is_caught ? ", caught by the block" : ""}{error.is_injected ? ", injected" : ""}: <Shortened name="" text={error.message.split("\n").at(-1) ?? ""} />
  </p>
);

/** The message that answered the reply, its JSON laid out; `as sent` shows it exactly. */
function Observation({ turn }: { turn: Turn }) {
  const [isExact, setExact] = useState(false);
  const text = turn.observation ?? "";
  const value = parsed(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return (
    <section class="observation" aria-label="Observation">
      <p class="label">
        observation
        {isObject && <button type="button" class="plain" onClick={() => setExact(!isExact)}>{isExact ? "laid out" : "as sent"}</button>}
      </p>
      {isObject && !isExact ? <Fields value={value as Record<string, unknown>} /> : <Text text={text} />}
    </section>
  );
}

function Fields({ value }: { value: Record<string, unknown> }) {
  const told = Object.entries(value).filter(([, each]) => each !== null && each !== "");
  if (told.length === 0) return <p class="nothing">nothing</p>;
  return (
    <dl class="fields">
      {told.map(([name, each]) => (
        <div key={name}>
          <dt>{words(name)}</dt>
          <dd><Text text={typeof each === "string" ? each : JSON.stringify(each)} /></dd>
        </div>
      ))}
    </dl>
  );
}

function Header({ turn }: { turn: Turn }) {
  if (turn.active_globals.length + turn.last_step_globals.length === 0) return null;
  return (
    <p class="alive-names">
      <span>alive now: {turn.active_globals.join(", ") || "none"}</span>
      <span>when the block ended: {turn.last_step_globals.join(", ") || "none"}</span>
    </p>
  );
}

function withoutLines(turn: Turn): unknown {
  const { before: _before, after: _after, ...kept } = turn;
  return { ...kept, steps: turn.steps.map(({ lines: _lines, ...step }) => step) };
}

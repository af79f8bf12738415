import { useMemo } from "preact/hooks";
import type { Curve, ExampleGroup, TrainingPage as Training, TrainingRun } from "../data/types";
import { useLoaded } from "../data/use";
import { count, decimals, seconds, words } from "../format";
import { Chart, type Line } from "../parts/chart";
import { EpisodeLink } from "../parts/episodeLink";
import { Failure, Waiting } from "../parts/notes";

export function TrainingPage() {
  const { values, error } = useLoaded<Training>("training");
  if (error !== null) return <Failure text={error} />;
  if (values === null) return <Waiting />;
  return (
    <>
      <h1>Training</h1>
      <h2>Loss</h2>
      <div class="charts">{values.runs.map((run) => <LossChart key={run.training_run_id} run={run} curve={values.curves[run.training_run_id] ?? {}} />)}</div>
      <Runs runs={values.runs} />
      <Examples groups={values.examples} />
    </>
  );
}

function LossChart({ run, curve }: { run: TrainingRun; curve: Curve }) {
  const places = useMemo(() => (curve.optimizer_step ?? []) as number[], [curve]);
  const lines = useMemo(() => linesOf(curve), [curve]);
  if (places.length === 0) return null;
  return <Chart title={nameOf(run)} places={places} lines={lines} isLogarithmic />;
}

function linesOf(curve: Curve): Line[] {
  const lines: Line[] = [{ label: "loss", values: curve.loss ?? [] }];
  const held = curve.validation_loss ?? [];
  if (held.some((value) => value !== null)) lines.push({ label: "held-out loss", values: held, isDashed: true });
  return lines;
}

const nameOf = (run: TrainingRun) => `${words(run.variant)}, ${run.base}, ${run.contract ?? "base"}, seed ${run.training_seed}`;

function Runs({ runs }: { runs: TrainingRun[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Trainings">
      <table class="numbers">
        <thead><tr><th>training</th><th>model</th><th>parameters</th><th>trained</th><th>tokens</th><th>steps</th><th>final loss</th><th>time</th></tr></thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.training_run_id}>
              <td>{nameOf(run)}</td>
              <td>{run.base_model}</td>
              <td>{count(run.parameter_count)}</td>
              <td>{count(run.trained_parameter_count)}</td>
              <td>{count(run.token_count)}</td>
              <td>{count(run.step_count)}</td>
              <td>{decimals(run.final_loss, 4)}</td>
              <td>{seconds(run.wall_seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Examples({ groups }: { groups: ExampleGroup[] }) {
  return (
    <>
      <h2>Examples</h2>
      <p class="lead">Teacher traces by verdict: retained ones are trained on, skipped ones break a rule, unprocessed ones were not needed.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Examples by verdict">
        <table class="examples">
          <thead><tr><th>variant</th><th>contract</th><th>verdict</th><th>reason</th><th>episodes</th><th>tokens</th><th>measured</th><th>bound</th><th>first episodes</th></tr></thead>
          <tbody>
            {groups.map((group, place) => (
              <tr key={place}>
                <td>{words(group.variant)}</td>
                <td>{group.contract}</td>
                <td>{group.status}</td>
                <td class={group.reason === null ? undefined : "missing"}>{words(group.reason)}</td>
                <td>{count(group.episode_count)}</td>
                <td>{count(group.token_count)}</td>
                <td>{group.measured_low === null ? "" : `${decimals(group.measured_low, 2)} to ${decimals(group.measured_high, 2)}`}</td>
                <td>{group.threshold === null ? "" : decimals(group.threshold, 2)}</td>
                <td class="ids">{group.episode_ids.map((id) => <EpisodeLink key={id} id={id}>{id.slice(0, 6)}</EpisodeLink>)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

import { Text } from "../parts/code";
import { Failure, Waiting } from "../parts/notes";
import type { RunPage as Run } from "../data/types";
import { useLoaded } from "../data/use";
import { words } from "../format";

export function RunPage() {
  const { values, error } = useLoaded<Run>("run");
  if (error !== null) return <Failure text={error} />;
  if (values === null) return <Waiting />;
  return (
    <>
      <h1>Run</h1>
      <dl class="facts">
        {Object.entries(values.run).map(([name, value]) => (
          <div>
            <dt>{words(name)}</dt>
            <dd>{String(value ?? "–")}</dd>
          </div>
        ))}
      </dl>
      <h2>Resolved plan</h2>
      <Text text={JSON.stringify(values.plan, null, 2)} />
      <h2>Environment</h2>
      <Text text={JSON.stringify(values.environment, null, 2)} />
    </>
  );
}

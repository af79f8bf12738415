import { Failure } from "../parts/notes";

export function ComparePage({ left, right }: { left: string; right: string }) {
  return <Failure text={`${left} ${right}`} />;
}

import { useRef, useState } from "preact/hooks";
import { bins, type Bins, type Episodes } from "../data/episodes";
import { count, decimals } from "../format";

const BINS = 32;
const HEIGHT = 56;

interface Props {
  name: string;
  column: string;
  episodes: Episodes;
  rows: number[];
  chosen: [number, number] | null;
  choose: (ends: [number, number] | null) => void;
}

/** A distribution; dragging over it, or its two fields, chooses a range. */
export function Histogram({ name, column, episodes, rows, chosen, choose }: Props) {
  const picture = useRef<SVGSVGElement>(null);
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  const found = bins(episodes, column, rows, BINS);
  if (found === null || found.low === found.high) return null;
  const place = (event: PointerEvent) => {
    const box = picture.current?.getBoundingClientRect();
    if (box === undefined) return 0;
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const start = (event: PointerEvent) => {
    picture.current?.setPointerCapture(event.pointerId);
    setDragged([place(event), place(event)]);
  };
  const move = (event: PointerEvent) => dragged !== null && setDragged([dragged[0], place(event)]);
  const end = () => {
    if (dragged !== null) choose(rangeOf(found, dragged));
    setDragged(null);
  };
  const band = dragged === null ? shares(found, chosen) : [Math.min(...dragged), Math.max(...dragged)];
  return (
    <figure class="histogram">
      <figcaption>{name}</figcaption>
      <svg
        ref={picture} viewBox={`0 0 ${BINS * 6} ${HEIGHT}`} preserveAspectRatio="none" role="img"
        aria-label={`${name}: ${rows.length} episodes between ${told(found.low)} and ${told(found.high)}`}
        onPointerDown={start} onPointerMove={move} onPointerUp={end}
      >
        {band !== null && <rect class="band" x={(band[0] ?? 0) * BINS * 6} width={((band[1] ?? 0) - (band[0] ?? 0)) * BINS * 6} y={0} height={HEIGHT} />}
        <Bars found={found} chosen={chosen} />
      </svg>
      <div class="ends">
        <End name={`${name} from`} value={chosen?.[0] ?? null} otherwise={found.low} set={(low) => choose(joined(found, low, chosen?.[1] ?? null))} />
        <End name={`${name} to`} value={chosen?.[1] ?? null} otherwise={found.high} set={(high) => choose(joined(found, chosen?.[0] ?? null, high))} />
      </div>
    </figure>
  );
}

function Bars({ found, chosen }: { found: Bins; chosen: [number, number] | null }) {
  const most = Math.max(1, ...found.counts);
  return (
    <>
      {found.counts.map((number, bin) => {
        // The square root keeps a bin of one episode visible beside one of a thousand.
        const height = number === 0 ? 0 : Math.max(2, HEIGHT * Math.sqrt(number / most));
        const low = found.low + bin * found.width;
        const isOut = chosen !== null && (low + found.width < chosen[0] || low > chosen[1]);
        return <rect key={bin} class={isOut ? "out" : undefined} x={bin * 6} width={5} y={HEIGHT - height} height={height} />;
      })}
    </>
  );
}

interface EndProps {
  name: string;
  value: number | null;
  otherwise: number;
  set: (value: number | null) => void;
}

function End({ name, value, otherwise, set }: EndProps) {
  const change = (event: Event) => {
    const typed = (event.target as HTMLInputElement).value.trim();
    set(typed === "" || !Number.isFinite(Number(typed)) ? null : Number(typed));
  };
  return <input type="text" inputMode="decimal" aria-label={name} placeholder={told(otherwise)} value={value === null ? "" : told(value).replaceAll(",", "")} onChange={change} />;
}

/** The range of the bins that a drag touches; a click without a drag chooses nothing. */
function rangeOf(found: Bins, [first, second]: [number, number]): [number, number] | null {
  const [start, end] = [Math.min(first, second), Math.max(first, second)];
  if (end - start < 0.02) return null;
  const lowBin = Math.floor(start * BINS);
  const highBin = Math.ceil(end * BINS);
  const low = lowBin === 0 ? found.low : rounded(found.low + lowBin * found.width);
  const high = highBin === BINS ? found.high : rounded(found.low + highBin * found.width);
  return [low, high];
}

function joined(found: Bins, low: number | null, high: number | null): [number, number] | null {
  if (low === null && high === null) return null;
  return [low ?? found.low, high ?? found.high];
}

function shares(found: Bins, chosen: [number, number] | null): [number, number] | null {
  if (chosen === null) return null;
  const size = found.high - found.low;
  const share = (value: number) => Math.max(0, Math.min(1, (value - found.low) / size));
  return [share(chosen[0]), share(chosen[1])];
}

const rounded = (value: number) => Number(value.toPrecision(4));

const told = (value: number) => (Number.isInteger(value) || Math.abs(value) >= 100 ? count(value) : decimals(value, 2));

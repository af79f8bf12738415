import type { Series } from "../data/types";
import { plural } from "../format";
import { EDGES, HEIGHT, layOut, slicesOf, WIDTH, type Plot, type Point, type Scale } from "./plot";

const COLOURS = 4;
const RADIUS = 78;
const MOST_SLICES = 12;
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

const colourOf = (place: number) => `series-${place % COLOURS}`;

/** A chart drawn from what its series hold: lines, bars, points, candlesticks, pies. */
export function Drawing({ series, label }: { series: Series[]; label: string }) {
  const kinds = series.map((each) => `${each.kind} of ${plural(each.points.length, "point")}`).join(", ");
  return (
    <svg class="drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${label}: ${kinds}`}>
      {series.some((each) => each.kind === "pie") ? <Pies series={series} /> : <Axes series={series} />}
    </svg>
  );
}

function Pies({ series }: { series: Series[] }) {
  const slices = series.flatMap((each) => slicesOf(each, RADIUS));
  return (
    <>
      <g transform={`translate(${RADIUS + 14} ${HEIGHT / 2})`}>
        {slices.map((slice, place) => <path key={place} class={`slice ${colourOf(place)}`} d={slice.path} />)}
      </g>
      {slices.slice(0, MOST_SLICES).map((slice, place) => (
        <text key={place} x={2 * RADIUS + 34} y={22 + 15 * place} class={`name ${colourOf(place)}`}>{slice.name} {compact.format(slice.value)}</text>
      ))}
    </>
  );
}

function Axes({ series }: { series: Series[] }) {
  const plot = layOut(series);
  const lanes = barLanes(series);
  return (
    <>
      <Frame plot={plot} />
      {series.map((each, place) => {
        const scale = plot.y[Math.min(1, each.axes[1])];
        if (scale === null || scale === undefined) return null;
        const lane = lanes.indexOf(each.stacked_on[0] ?? place);
        return <Shape key={place} kind={each.kind} points={plot.points[place] ?? []} plot={plot} scale={scale} colour={colourOf(place)} lane={[lane, lanes.length]} />;
      })}
    </>
  );
}

/** Series whose bars stand beside each other; a stack stands where its first one does. */
function barLanes(series: Series[]): number[] {
  const places = series.map((_, place) => place);
  return places.filter((place) => series[place]?.kind === "bar" && (series[place]?.stacked_on[0] ?? place) === place);
}

function Frame({ plot }: { plot: Plot }) {
  const bottom = HEIGHT - EDGES.bottom;
  const name = (value: number) => plot.categories[Math.round(value)] ?? compact.format(value);
  const last = plot.categories.length > 0 ? plot.categories.length - 1 : plot.x.high;
  const first = plot.categories.length > 0 ? 0 : plot.x.low;
  return (
    <g class="frame">
      <path d={`M${EDGES.left},${EDGES.top}V${bottom}H${WIDTH - EDGES.right}`} />
      <text x={EDGES.left} y={HEIGHT - 7}>{name(first)}</text>
      <text x={WIDTH - EDGES.right} y={HEIGHT - 7} text-anchor="end">{name(last)}</text>
      {plot.y.map((scale, axis) => scale !== null && <Ends key={axis} scale={scale} x={axis === 0 ? EDGES.left - 5 : WIDTH - EDGES.right + 5} anchor={axis === 0 ? "end" : "start"} />)}
    </g>
  );
}

function Ends({ scale, x, anchor }: { scale: Scale; x: number; anchor: "start" | "end" }) {
  return (
    <>
      <text x={x} y={EDGES.top + 8} text-anchor={anchor}>{compact.format(scale.high)}</text>
      <text x={x} y={HEIGHT - EDGES.bottom} text-anchor={anchor}>{compact.format(scale.low)}</text>
    </>
  );
}

interface ShapeProps {
  kind: string;
  points: Point[];
  plot: Plot;
  scale: Scale;
  colour: string;
  /** Which of how many bars stands at a place. */
  lane: [number, number];
}

function Shape({ kind, points, plot, scale, colour, lane }: ShapeProps) {
  const step = plot.x.place(1) - plot.x.place(0);
  const held = points.filter((point) => Number.isFinite(point.y));
  switch (kind) {
    case "bar":
      return <Bars points={held} plot={plot} scale={scale} colour={colour} width={(0.8 * step) / lane[1]} start={-0.4 * step + (0.8 * step * lane[0]) / lane[1]} />;
    case "candlestick":
      return <>{held.map((point, place) => <Candle key={place} point={point} x={plot.x.place(point.x)} width={0.6 * step} scale={scale} colour={colour} />)}</>;
    case "line":
      return <polyline class={`line ${colour}`} points={held.map((point) => `${plot.x.place(point.x)},${scale.place(point.y)}`).join(" ")} />;
    default:
      return <>{held.map((point, place) => <circle key={place} class={`point ${colour}`} cx={plot.x.place(point.x)} cy={scale.place(point.y)} r={2.6} />)}</>;
  }
}

interface BarsProps {
  points: Point[];
  plot: Plot;
  scale: Scale;
  colour: string;
  width: number;
  start: number;
}

function Bars({ points, plot, scale, colour, width, start }: BarsProps) {
  return (
    <>
      {points.map((point, place) => {
        const top = scale.place(Math.max(point.y, point.base));
        const bottom = scale.place(Math.min(point.y, point.base));
        return <rect key={place} class={`bar ${colour}`} x={plot.x.place(point.x) + start} width={Math.max(1, width - 1)} y={top} height={Math.max(0.5, bottom - top)} />;
      })}
    </>
  );
}

function Candle({ point, x, width, scale, colour }: { point: Point; x: number; width: number; scale: Scale; colour: string }) {
  const [open = NaN, close = NaN, lowest = NaN, highest = NaN] = point.candle ?? [];
  const top = scale.place(Math.max(open, close));
  const height = Math.max(1, Math.abs(scale.place(open) - scale.place(close)));
  return (
    <g class={`candle ${colour} ${close < open ? "falling" : ""}`}>
      <path d={`M${x},${scale.place(lowest)}V${scale.place(highest)}`} />
      <rect x={x - width / 2} y={top} width={width} height={height} />
    </g>
  );
}

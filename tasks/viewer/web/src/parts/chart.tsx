import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onThemeChange } from "./theme";

export interface Line {
  label: string;
  values: (number | null)[];
  isDashed?: boolean;
}

interface Props {
  title: string;
  places: number[];
  lines: Line[];
  isLogarithmic?: boolean;
}

const HEIGHT = 240;
const WIDTHS = [2, 2, 1.5];
const COLOURS = ["--accent", "--function", "--number", "--string"];

const nameOf = (place: number) => COLOURS[Math.max(0, place) % COLOURS.length] ?? "--ink";

/** Lines over common places; colours are those of the page. */
export function Chart({ title, places, lines, isLogarithmic }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const held = box.current;
    if (held === null) return undefined;
    const plot = new uPlot(optionsOf(held, lines, isLogarithmic ?? false), [places, ...lines.map((line) => line.values)], held);
    const observer = new ResizeObserver(() => plot.setSize({ width: held.clientWidth, height: HEIGHT }));
    observer.observe(held);
    const forget = onThemeChange(() => plot.redraw(false));
    return () => {
      forget();
      observer.disconnect();
      plot.destroy();
    };
  }, [places, lines]);
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div ref={box} role="img" aria-label={describe(title, lines)} />
    </figure>
  );
}

function optionsOf(box: HTMLElement, lines: Line[], isLogarithmic: boolean): uPlot.Options {
  const colour = (name: string) => () => colourOf(box, name);
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false }, y: isLogarithmic ? { distr: 3 } : {} },
    axes: [axis, { ...axis, size: 62 }],
    legend: { markers: { stroke: (_plot, series) => `var(${nameOf(series - 1)})` } },
    series: [
      { label: "step" },
      ...lines.map((line, place) => ({
        label: line.label,
        stroke: colour(nameOf(place)),
        points: { show: line.values.length < 3 },
        width: WIDTHS[place] ?? 1.5,
        spanGaps: true,
        ...(line.isDashed ? { dash: [4, 4] } : {}),
      })),
    ],
  };
}

/** The colour behind a name in the current theme: a canvas knows no variables. */
function colourOf(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`;
  const { color } = getComputedStyle(box);
  box.style.color = "";
  return color;
}

function describe(title: string, lines: Line[]): string {
  const told = lines.map((line) => {
    const known = line.values.filter((value) => value !== null);
    return `${line.label} from ${known[0]?.toPrecision(3)} to ${known.at(-1)?.toPrecision(3)}`;
  });
  return `${title}: ${told.join("; ")}`;
}

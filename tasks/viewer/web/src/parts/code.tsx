import { useState } from "preact/hooks";
import type { Piece } from "../data/types";
import { count, visible } from "../format";

const MOST_SHOWN = 20_000;
const MOST_LINES = 2_000;

/** A block's code; every piece is a text node. */
export function Code({ lines, marks }: { lines: Piece[][]; marks: string[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, MOST_LINES);
  return (
    <>
      <pre class="code" tabIndex={0}>
        <code>
          {shown.map((line, place) => (
            <span class={`line ${marks[place] ?? ""}`}>
              {line.map(([name, text]) => <Shortened name={name} text={text} />)}
              {"\n"}
            </span>
          ))}
        </code>
      </pre>
      {shown.length < lines.length && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>Show all {count(lines.length)} lines</button>
      )}
    </>
  );
}

/** A piece of a line, cut at a length that a page draws at once. */
export function Shortened({ name, text }: { name: string; text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= MOST_SHOWN || isWhole) return <span class={name || undefined}>{visible(text)}</span>;
  return (
    <>
      <span class={name || undefined}>{visible(text.slice(0, MOST_SHOWN))}</span>
      <button type="button" class="plain" onClick={() => setWhole(true)}>… all {count(text.length)} characters</button>
    </>
  );
}

/** Any text exactly as it was, cut at a length that a page draws at once. */
export function Text({ text, class: name = "text" }: { text: string; class?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > MOST_SHOWN && !isWhole;
  return (
    <>
      <pre class={name} dir="auto" tabIndex={0}>{visible(isCut ? text.slice(0, MOST_SHOWN) : text)}</pre>
      {isCut && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>Show all {count(text.length)} characters</button>
      )}
    </>
  );
}

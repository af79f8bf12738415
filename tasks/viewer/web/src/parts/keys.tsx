import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["j", "next turn, or next episode of a list"],
  ["k", "previous turn, or previous episode of a list"],
  ["Enter", "open the chosen episode"],
  ["m", "first missing name"],
  ["c", "compare with the same instance"],
  ["n", "next pair"],
  ["p", "previous pair"],
  ["r", "raw JSON"],
  ["u", "back to the study"],
  ["/", "search"],
  ["?", "these keys"],
];

type Handlers = Record<string, () => void>;

/** Calls a page's function for a key, unless a field is being typed into. */
export function useKeys(handlers: Handlers): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const handler = latest.current[event.key];
      if (handler === undefined) return;
      event.preventDefault();
      handler();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  const toggle = () => {
    if (dialog.current?.open) dialog.current.close();
    else dialog.current?.showModal();
  };
  useKeys({
    "?": toggle,
    "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
    u: () => {
      location.hash = "#/";
    },
  });
  return (
    <>
      <footer class="bottom">
        <button type="button" class="plain" onClick={toggle}>Keys <kbd>?</kbd></button>
      </footer>
      <dialog ref={dialog} aria-label="Keys">
        <h2>Keys</h2>
        <dl class="keys">
          {KEYS.map(([key, meaning]) => (
            <div>
              <dt><kbd>{key}</kbd></dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog"><button>Close</button></form>
      </dialog>
    </>
  );
}

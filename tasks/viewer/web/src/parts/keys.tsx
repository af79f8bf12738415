import { useEffect, useRef, useState } from "preact/hooks";

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

const KEPT = "carryover-keys";

type Handlers = Record<string, () => void>;

/** Calls a page's function for a key, unless a field is being typed into. */
export function useKeys(handlers: Handlers): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "Enter" && isPressable(event.target)) return;
      if (event.key.length === 1 && !areKeysOn()) return;
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
  if (target instanceof HTMLInputElement && target.type === "checkbox") return false;
  return target instanceof HTMLElement && ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Whether Enter already does something to the focused element. */
function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && ["A", "BUTTON", "SUMMARY"].includes(target.tagName);
}

// A page opened from file:// may be refused its storage: the choice then lasts as long as the page.
let chosen: boolean | null = null;

function areKeysOn(): boolean {
  if (chosen !== null) return chosen;
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}

function turnKeys(isOn: boolean): void {
  chosen = isOn;
  try {
    localStorage.setItem(KEPT, isOn ? "on" : "off");
  } catch {
    return;
  }
}

function KeySwitch() {
  const [isOn, setOn] = useState(areKeysOn);
  const change = (event: { currentTarget: HTMLInputElement }) => {
    turnKeys(event.currentTarget.checked);
    setOn(event.currentTarget.checked);
  };
  return <p><label><input type="checkbox" checked={isOn} onChange={change} /> Keys of a single letter or sign are on</label></p>;
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
        <KeySwitch />
        <form method="dialog"><button>Close</button></form>
      </dialog>
    </>
  );
}

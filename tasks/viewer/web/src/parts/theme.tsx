import { useEffect, useState } from "preact/hooks";

const KEY = "carryover-theme";
const DARK = "(prefers-color-scheme: dark)";
const CHANGED = "carryover-theme-changed";

/** Calls back whenever the colours change; returns what ends that. */
export function onThemeChange(act: () => void): () => void {
  const screen = matchMedia(DARK);
  screen.addEventListener("change", act);
  addEventListener(CHANGED, act);
  return () => {
    screen.removeEventListener("change", act);
    removeEventListener(CHANGED, act);
  };
}

/** Switches between light and dark; without a choice the page follows the screen. */
export function ThemeButton() {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    if (theme !== null) document.documentElement.dataset.theme = theme;
    dispatchEvent(new Event(CHANGED));
  }, [theme]);
  const isDark = (theme ?? (matchMedia(DARK).matches ? "dark" : "light")) === "dark";
  const next = isDark ? "light" : "dark";
  const choose = () => {
    keepTheme(next);
    setTheme(next);
  };
  return <button type="button" class="theme" onClick={choose} aria-label={`Show in ${next} colours`}>{isDark ? "☀" : "☾"}</button>;
}

// A page opened from file:// may be refused its storage.
function readTheme(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keepTheme(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return;
  }
}

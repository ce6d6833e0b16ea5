// Dark or light, and whether the rail is folded: choices of this machine, not of the address.
import { createSignal } from "solid-js";

export type Theme = "dark" | "light";

const light = matchMedia("(prefers-color-scheme: light)");
const [theme, setThemeSignal] = createSignal<Theme>(stored("theme") ?? (light.matches ? "light" : "dark"));
const [railChoice, setRailChoice] = createSignal<"slim" | "wide" | undefined>(stored("rail"));

export { theme, railChoice };

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  light.addEventListener("change", () => {
    if (stored("theme") === undefined) setTheme(light.matches ? "light" : "dark");
  });
}

export function toggleTheme(): void {
  const next = theme() === "dark" ? "light" : "dark";
  store("theme", next);
  setTheme(next);
}

export function chooseRail(choice: "slim" | "wide"): void {
  store("rail", choice);
  setRailChoice(choice);
}

function setTheme(next: Theme): void {
  document.documentElement.dataset.theme = next;
  setThemeSignal(next);
}

// Storage may be forbidden; then choices last as long as the page.
function stored<T extends string>(key: string): T | undefined {
  try {
    return (localStorage.getItem(`stepscope.${key}`) as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(`stepscope.${key}`, value);
  } catch {
    // See above.
  }
}

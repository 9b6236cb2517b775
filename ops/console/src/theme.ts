// Light, dark, or as the system has it; kept in this browser.
import { effect, signal } from "@preact/signals";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const kept = localStorage.getItem("cairn.theme") as Theme | null;
export const theme = signal<Theme>(kept !== null && themes.includes(kept) ? kept : "system");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("cairn.theme", theme.value);
});

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
}

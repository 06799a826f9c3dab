/**
 * The theme: light, dark, or that of the system. `first-paint.ts` sets it before the first paint, and follows the
 * system.
 */
import { useEffect, useState } from "react";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const storageKey = "vexel.theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

const storedTheme = (): Theme => {
  const stored = localStorage.getItem(storageKey);
  return stored === "light" || stored === "dark" ? stored : "system";
};

const apply = (theme: Theme): void => {
  const isDark = theme === "dark" || (theme === "system" && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
};

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (chosen: Theme): void => {
    localStorage.setItem(storageKey, chosen);
    apply(chosen);
    setTheme(chosen);
  };
  return [theme, choose];
}

/** The theme that is shown, for drawings whose colors are not CSS. */
export function useShownTheme(): string | undefined {
  const [shown, setShown] = useState(document.documentElement.dataset.theme);
  useEffect(() => {
    const update = (): void => setShown(document.documentElement.dataset.theme);
    const observer = new MutationObserver(update);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return shown;
}

/**
 * Sets the stored theme, dark or light, before the first paint, and follows the system while no theme is stored. A file
 * of its own, because the content security policy forbids inline scripts.
 */
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function showTheme(): void {
  const stored = localStorage.getItem("vexel.theme");
  const isDark = stored === "dark" || (stored !== "light" && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

systemIsDark.addEventListener("change", showTheme);
showTheme();

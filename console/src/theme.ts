/**
 * Sets the stored theme, dark or light, before the first paint. A file of its own, because the content security policy
 * forbids inline scripts.
 */
const stored = localStorage.getItem("vexel.theme");
const isDark =
  stored === "dark" || (stored !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset.theme = isDark ? "dark" : "light";

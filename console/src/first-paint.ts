/**
 * What must be right before the first paint: the theme, and the frame of index.html, which the pages before the sign-in
 * do not have. A file of its own, because the content security policy forbids inline scripts.
 */
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

/** The stored theme, or that of the system while none is stored. */
function showTheme(): void {
  const stored = localStorage.getItem("vexel.theme");
  const isDark = stored === "dark" || (stored !== "light" && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

systemIsDark.addEventListener("change", showTheme);
showTheme();

if (/^\/console\/(?:sign-in|sign-in-done|setup|invite|new-password)$/.test(location.pathname))
  document.documentElement.dataset.frame = "none";

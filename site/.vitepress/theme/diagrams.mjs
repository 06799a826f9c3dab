// Draws the Mermaid diagrams of a page. Only a page with a diagram loads the program, from the site itself.
import url from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";

let loaded;

const load = () =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.mermaid);
    script.onerror = reject;
    document.head.append(script);
  });

export async function drawDiagrams(isDark) {
  const diagrams = document.querySelectorAll("pre.mermaid");
  if (diagrams.length === 0) return;
  loaded ??= load();
  const mermaid = await loaded;
  const theme = isDark ? "dark" : "neutral";
  mermaid.initialize({ startOnLoad: false, theme, themeVariables: { fontSize: "14px" } });
  for (const diagram of diagrams) {
    // A change of the theme draws the diagram again.
    diagram.dataset.source ??= diagram.textContent;
    diagram.textContent = diagram.dataset.source;
    delete diagram.dataset.processed;
  }
  await mermaid.run({ nodes: diagrams });
}

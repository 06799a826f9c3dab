// The documentation site: every page is a Markdown file of the repository, at the same path. The sidebar is the index of
// docs/README.md and the list of decisions of ARCHITECTURE.md. A link to a page that does not exist fails the build.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const read = (path) => readFileSync(join(root, path), "utf8");

/** Pages are named README.md for a forge and index.html for a web server. */
const rewrites = Object.fromEntries(
  ["", "docs/", "bench/", "packages/sketch/"].map((at) => [`${at}README.md`, `${at}index.md`]),
);

const urlOf = (path) => `/${(rewrites[path] ?? path).replace(/(^|\/)index\.md$|\.md$/, "$1")}`;

/** The links of a text, as entries of the sidebar. */
const entriesOf = (text, folder) =>
  Array.from(text.matchAll(/\[([^\]]+)\]\(([^)\s#]+\.md)\)/g), ([, name, target]) => ({
    text: name.replaceAll("`", ""),
    link: urlOf(posix.join(folder, target)),
  }));

/** One group for each section of the index. */
function sidebar() {
  const [, ...sections] = read("docs/README.md").split(/^## /m);
  const groups = sections.map((section) => ({
    text: section.slice(0, section.indexOf("\n")),
    items: entriesOf(section, "docs"),
  }));
  const [, decisions] = read("ARCHITECTURE.md").split(/^## Decisions$/m);
  return [...groups, { text: "Decisions", collapsed: true, items: entriesOf(decisions, "") }];
}

/** Files that pages link to, such as dashboards, and their paths on the site. */
const linkedFiles = new Map();

/** Web servers send TypeScript as video. */
const sitePathOf = (file) => file.replace(/\.ts$/, ".ts.txt");

/** Leads links to their target on the site. */
function adaptLinks(md) {
  const render = md.renderer.rules.link_open;
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const token = tokens[at];
    const href = token.attrGet("href");
    if (!/^(?:[a-z]+:|#|\/)/.test(href)) {
      const [path, anchor] = href.split("#");
      const folder = posix.dirname(posix.relative(root, env.realPath ?? env.path));
      const file = posix.join(folder, path);
      if (file.endsWith(".md")) {
        token.attrSet("href", urlOf(file) + (anchor === undefined ? "" : `#${anchor}`));
      } else {
        linkedFiles.set(file, sitePathOf(file));
        token.attrs.push(["target", "_blank"]);
        token.attrSet("href", `/${sitePathOf(file)}`);
      }
    }
    return render(tokens, at, options, env, self);
  };
}

/** Pages are outside of the folder whose packages have Vue. */
const vueForPages = {
  name: "vue-for-pages",
  enforce: "pre",
  resolveId(id, importer, options) {
    if (!/^vue(?:\/|$)/.test(id) || !/\.md(?:\?|$)/.test(importer ?? "")) return null;
    return this.resolve(id, fileURLToPath(import.meta.url), { ...options, skipSelf: true });
  },
};

/** Diagrams are drawn in the browser, by the theme. */
function drawDiagrams(md) {
  const render = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, at, ...rest) => {
    const { info, content } = tokens[at];
    if (info !== "mermaid") return render(tokens, at, ...rest);
    return `<pre class="mermaid" v-pre>${md.utils.escapeHtml(content)}</pre>`;
  };
}

export default defineConfig({
  title: "Vexel",
  description: "A self-hosted, OpenAI-compatible gateway for embeddings and images.",
  srcDir: "..",
  srcExclude: ["test/**", "site/**", "data/**", "release/**", "console/**"],
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  rewrites,
  vite: {
    publicDir: false,
    build: { chunkSizeWarningLimit: 4_000 },
    plugins: [vueForPages],
  },
  markdown: {
    // The anchors of a forge, which test/laws/docs.test.ts checks.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, "")
          .replace(/\s/g, "-"),
    },
    config(md) {
      adaptLinks(md);
      drawDiagrams(md);
    },
  },
  buildEnd({ outDir }) {
    for (const [file, path] of linkedFiles) {
      mkdirSync(dirname(join(outDir, path)), { recursive: true });
      copyFileSync(join(root, file), join(outDir, path));
    }
  },
  themeConfig: {
    nav: [
      { text: "All pages", link: "/docs/" },
      { text: "Quickstart", link: "/docs/quickstart" },
      { text: "Configuration", link: "/docs/configuration" },
      { text: "API", link: "/docs/api" },
      { text: "Errors", link: "/docs/errors" },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: "local" },
  },
});

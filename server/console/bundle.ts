/** Builds the console for the browser: JavaScript by Bun's bundler, styles by Tailwind. */
import { join, relative } from "node:path";
import { compile } from "tailwindcss";
import { sourcesIn } from "./sources-in.ts";

export interface BundledFile {
  /** Relative to the console's base path, such as `main-1ecf4fa5.js`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export async function bundleConsole(folder: string): Promise<BundledFile[]> {
  const [scripts, styles] = await Promise.all([bundleScripts(folder), bundleStyles(folder)]);
  const nameOf = (stem: string): string => {
    const found = [...scripts, styles].find(({ name }) => name.startsWith(`${stem}-`));
    if (!found) throw new Error(`The console has no file ${stem}`);
    return found.name;
  };
  const page = (await Bun.file(join(folder, "index.html")).text()).replace(
    // `{nonce}` is replaced in each response.
    /\{(?!nonce\})([\w-]+)\}/g,
    (_, stem: string) => `/console/${nameOf(stem)}`,
  );
  const icon = await Bun.file(join(folder, "icon.svg")).bytes();
  return [
    ...scripts,
    styles,
    { name: "icon.svg", bytes: icon },
    { name: "index.html", bytes: new TextEncoder().encode(page) },
  ];
}

/** Without the parser of number and date patterns (`{count, number, ::compact}`), which no message has: 2 KB. */
const withoutSkeletons: Bun.BunPlugin = {
  name: "without-skeletons",
  setup: (build) => {
    build.onLoad({ filter: /icu-skeleton-parser[\\/]index\.js$/ }, () => ({
      loader: "js",
      contents:
        "export const [parseNumberSkeleton, parseNumberSkeletonFromString, parseDateTimeSkeleton] = [];",
    }));
  },
};

async function bundleScripts(folder: string): Promise<BundledFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: ["main.tsx", "first-paint.ts", "features/embeddings/vector-worker.ts"].map(
      (name) => join(folder, name),
    ),
    target: "browser",
    splitting: true,
    minify: true,
    plugins: [withoutSkeletons],
    naming: { entry: "[name]-[hash].[ext]", chunk: "chunk-[hash].[ext]" },
    // React's development build is four times as large.
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return Promise.all(
    outputs.map(async (output) => ({
      name: relative(".", output.path),
      bytes: new Uint8Array(await output.arrayBuffer()),
    })),
  );
}

/** Tailwind generates the classes that occur in the sources. Any word of a string may be the name of a class. */
async function bundleStyles(folder: string): Promise<BundledFile> {
  const sources = sourcesIn(folder).filter((path) => /\.(?:tsx?|html)$/.test(path));
  const texts = await Promise.all(sources.map((path) => Bun.file(path).text()));
  const strings = texts.flatMap((text) => text.match(/"[^"\n]*"|`[^`]*`/g) ?? []);
  const words = new Set(strings.flatMap((text) => text.match(/[^\s"'`<>{}]+/g) ?? []));
  const { build } = await compile(await Bun.file(join(folder, "styles.css")).text(), {
    base: folder,
    loadStylesheet: async (id, base) => {
      const path = Bun.resolveSync(id === "tailwindcss" ? "tailwindcss/index.css" : id, base);
      return { path, base, content: await Bun.file(path).text() };
    },
  });
  const { outputs } = await Bun.build({
    entrypoints: ["/styles.css"],
    files: { "/styles.css": build([...words]) },
    minify: true,
  });
  const bytes = new Uint8Array((await outputs[0]?.arrayBuffer()) ?? []);
  return { name: `styles-${Bun.hash(bytes).toString(16).slice(0, 8)}.css`, bytes };
}

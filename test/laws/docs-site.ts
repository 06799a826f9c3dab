/**
 * The documentation site has every page, its links lead to a page and an anchor, and search finds words of the pages.
 * `npm run docs -- check` builds the site, and then runs these tests on it. The build takes 20 s of CPU time and
 * packages of its own, so `npm test` does without; `.ci/run` runs both.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { sharedBrowser } from "../browser/chromium.ts";
import { root } from "../harness.ts";
import { testWith } from "../programs.ts";
import { filesBelow, textOf } from "./tree.ts";

const documents = filesBelow("").filter((path) => /\.md$/.test(path) && !path.startsWith("test/"));
const dist = join(root, "site", "dist");

/** The page of a document. */
const pageOf = (path: string): string =>
  path.replace(/(^|\/)README\.md$/, "$1index.md").replace(/\.md$/, ".html");
const htmlOf = (file: string): string => readFileSync(join(dist, file), "utf8");
const valuesOf = (html: string, attribute: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) =>
    value.replaceAll("&amp;", "&"),
  );

describe("the documentation site", () => {
  test("has a page with the title of every document", () => {
    const missing = documents.filter((path) => {
      if (!existsSync(join(dist, pageOf(path)))) return true;
      const [, title = "no title"] = /^# (\S+)/m.exec(textOf(path)) ?? [];
      return !/<h1[^>]*>(.*?)<\/h1>/s.exec(htmlOf(pageOf(path)))?.[1]?.includes(strip(title));
    });
    expect(missing).toEqual([]);
  });

  test("has only links to its own pages, files and anchors, or to other sites", () => {
    const anchors = new Map<string, Set<string>>();
    const hasAnchor = (page: string, id: string): boolean => {
      const ids = anchors.get(page) ?? new Set(valuesOf(htmlOf(page), "id"));
      anchors.set(page, ids);
      return ids.has(id);
    };
    const broken = documents.map(pageOf).flatMap((page) =>
      valuesOf(htmlOf(page), "href")
        .filter((href) => !/^(?:https?|mailto):/.test(href))
        .filter((href) => {
          const [path = "", anchor] = href.split("#");
          const target = path === "" ? page : targetOf(posix.join("/", posix.dirname(page)), path);
          if (!existsSync(join(dist, target))) return true;
          return anchor !== undefined && anchor !== "" && !hasAnchor(target, anchor);
        })
        .map((href) => `${page}: ${href}`),
    );
    expect(broken).toEqual([]);
  });

  test("has every page in its navigation", () => {
    const linked = valuesOf(htmlOf("index.html"), "href").map((href) => targetOf("/", href));
    const missing = documents.map(pageOf).filter((page) => !linked.includes(page));
    expect(missing).toEqual([]);
  });

  test("has no script, style, font or image of another server", () => {
    const loaded = documents
      .map(pageOf)
      .flatMap((page) =>
        Array.from(
          htmlOf(page).matchAll(
            /<(?:script|link|img|source|iframe)\b[^>]*"((?:https?:)?\/\/[^"]*)"/g,
          ),
          ([, url]) => `${page}: ${url}`,
        ),
      );
    expect(loaded).toEqual([]);
    const styles = readdirSync(join(dist, "assets")).filter((name) => name.endsWith(".css"));
    expect(styles.length).toBeGreaterThan(0);
    const fetching = styles.filter((name) =>
      /(?:url\(|@import)\s*["']?(?:https?:)?\/\//.test(htmlOf(join("assets", name))),
    );
    expect(fetching).toEqual([]);
  });

  testWith("chromium")(
    "finds words of its pages, draws diagrams and requests nothing from another server",
    async () => {
      using server = serveSite();
      await using context = await (await sharedBrowser()).newContext();
      const page = await context.newPage();
      const others: string[] = [];
      const problems: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(server.url.href)) others.push(request.url());
      });
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (message) => {
        if (message.type() === "error") problems.push(message.text());
      });
      await page.goto(new URL("ARCHITECTURE.html", server.url).href);
      await page.locator("pre.mermaid svg").first().waitFor();
      for (const [word, target] of [
        ["hedged", "/docs/routing-and-failover.html"],
        ["VEXEL_MAX_INPUTS", "/docs/settings.html"],
        ["idempotency_mismatch", "/docs/errors.html"],
      ]) {
        await page.keyboard.press("/");
        await page.locator("#localsearch-input").fill(String(word));
        await page.locator(`.VPLocalSearchBox a[href^="${target}"]`).first().waitFor();
        await page.keyboard.press("Escape");
      }
      expect({ others, problems }).toEqual({ others: [], problems: [] });
    },
  );
});

/** Without Markdown's marks. */
function strip(text: string): string {
  return text.replaceAll(/[`*]/g, "");
}

/** The file of a link, by its path in the site. */
function targetOf(folder: string, href: string): string {
  const path = posix.resolve(folder, href).slice(1) + (href.endsWith("/") ? "/" : "");
  return /(?:^|\/)$/.test(path) ? `${path}index.html`.replace(/^\//, "") : path;
}

const serveSite = () =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => new Response(Bun.file(join(dist, new URL(url).pathname))),
  });

/** The pages of the console, read from its router. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

const router = readFileSync(join(root, "console/router.tsx"), "utf8");

/** Pages whose API is not served yet. */
const unserved = new Set([
  "/overview",
  "/requests",
  "/requests/$id",
  "/usage",
  "/budgets",
  "/events",
]);

/** A value for each path with a parameter. */
const values: Readonly<Record<string, string>> = {
  "/model/$": "/model/text-embedding-3-small",
};

const paths = Array.from(router.matchAll(/\bpath: "([^"]+)"/g), ([, path = ""]) => path);

/** Before the sign-in. */
export const publicPages = ["/sign-in", "/setup"];

/** Behind the sign-in. `/` redirects to one of them. */
export const signedInPages = paths
  .filter((path) => path !== "/" && !publicPages.includes(path) && !unserved.has(path))
  .map((path) => {
    const value = path.includes("$") ? values[path] : path;
    if (value === undefined) throw new Error(`router-pages.ts has no value for ${path}`);
    return value;
  });

/** The pages of the console, read from its router. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

const router = readFileSync(join(root, "console/src/router.tsx"), "utf8");

const paths = Array.from(
  router.matchAll(/\b(?:path: |page\(\s*)"([^"]+)"/g),
  ([, path = ""]) => path,
);

/** Before the sign-in. */
export const publicPages = ["/sign-in", "/setup", "/invite", "/sign-in-done", "/new-password"];

/** Behind the sign-in. `requestId` and `jobId`: the request and the job whose pages are opened. */
export function signedInPages(requestId: string, jobId: string): string[] {
  /** A value for each path with a parameter. */
  const values: Readonly<Record<string, string>> = {
    $: "/no-such-page",
    "/model/$": "/model/text-embedding-3-small",
    "/jobs/$id": `/jobs/${jobId}`,
    "/requests/$id": `/requests/${requestId}`,
    "/edit-model/$": "/edit-model/text-embedding-3-small",
    "/upstreams/$id/edit": "/upstreams/fake/edit",
    "/projects/$id": "/projects/studio",
    "/keys/$id": "/keys/file:test",
    "/upstreams/$id": "/upstreams/fake",
    "/users/$id": "/users/no-such-user",
    "/end-users/$": "/end-users/ada",
    "/reference/{-$api}/{-$operation}": "/reference/models/generations",
  };
  return paths
    .filter((path) => !publicPages.includes(path))
    .map((path) => {
      const value = path.includes("$") ? values[path] : path;
      if (value === undefined) throw new Error(`router-pages.ts has no value for ${path}`);
      return value;
    });
}

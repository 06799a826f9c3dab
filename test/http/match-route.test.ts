/** The router: routes are found by method and path, and path parameters have names. */
import { describe, expect, test } from "bun:test";
import { allowHeader, createMatchPath, routeOf } from "../../server/http/dispatch.ts";
import type { ParametersOf } from "../../server/http/route.ts";
import type { Route } from "../../server/http/routes.ts";

const row = (method: Route["method"], path: Route["path"]) =>
  ({ name: `${method} ${path}`, method, path, summary: "" }) as unknown as Route;

const match = createMatchPath([
  row("GET", "/things/{id}/parts/{part}/file"),
  row("GET", "/things"),
  row("POST", "/things"),
  row("POST", "/things/{id}/parts"),
  row("GET", "/things/{id}"),
  row("DELETE", "/things/{id}"),
  row("PATCH", "/things/{id}"),
]);
const found = (method: string, path: string) => {
  const paths = match(path);
  if (!paths) return undefined;
  return [
    routeOf(paths, method)?.name as string | undefined,
    paths.parameters,
    allowHeader(paths.methods.keys()),
  ];
};

describe("a path with several methods:", () => {
  test.each<[string, string, string | undefined, Record<string, string>, string]>([
    ["GET", "/things", "GET /things", {}, "GET, HEAD, POST, OPTIONS"],
    ["HEAD", "/things", "GET /things", {}, "GET, HEAD, POST, OPTIONS"],
    ["POST", "/things", "POST /things", {}, "GET, HEAD, POST, OPTIONS"],
    ["PUT", "/things", undefined, {}, "GET, HEAD, POST, OPTIONS"],
    [
      "DELETE",
      "/things/a",
      "DELETE /things/{id}",
      { id: "a" },
      "GET, HEAD, DELETE, PATCH, OPTIONS",
    ],
    ["OPTIONS", "/things/a", undefined, { id: "a" }, "GET, HEAD, DELETE, PATCH, OPTIONS"],
    ["POST", "/things/a/parts", "POST /things/{id}/parts", { id: "a" }, "POST, OPTIONS"],
  ])("%s %s has its own handler, and the allowed methods come from the table", (...expected) => {
    const [method, path, name, parameters, allow] = expected;
    expect(found(method, path)).toEqual([name, parameters, allow]);
  });

  test("an unknown path matches no route", () => {
    expect(match("/thing")).toBeUndefined();
    expect(match("/things/")).toBeUndefined();
  });
});

// The first pattern that matches is used, so the longer one comes first in the table.
test("each parameter of a path has its name, also in the types", () => {
  const names: ParametersOf<"/things/{id}/parts/{part}/file">[] = ["id", "part"];
  const [, parameters] = found("GET", "/things/a%2Fb/parts/c/file") ?? [];
  expect(parameters).toEqual({ id: "a%2Fb", part: "c" });
  expect(Object.keys(parameters ?? {})).toEqual(names);
});

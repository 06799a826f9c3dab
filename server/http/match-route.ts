/**
 * Finds the routes of a path: first by the exact path, then by the patterns with parameters, in the order of the table.
 */
import type { RouteRow } from "./route.ts";
import { type Route, type RouteName, routes } from "./routes.ts";

export interface PathMatch<Row extends RouteRow = Route> {
  /** The routes of this path, by method. */
  readonly methods: ReadonlyMap<string, Row>;
  /** Still percent-encoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

interface PathPattern<Row extends RouteRow> extends PathMatch<Row> {
  readonly path: string;
  readonly pattern: RegExp;
}

export type MatchPath<Row extends RouteRow> = (path: string) => PathMatch<Row> | undefined;

/** Returns a function that finds the routes of a path in this table. */
export function createMatchPath<Row extends RouteRow>(table: readonly Row[]): MatchPath<Row> {
  const exact = new Map<string, PathPattern<Row>>();
  for (const { path } of table) {
    const rows = table.filter((row) => row.path === path);
    const pattern = new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/].*)")}$`);
    const methods = new Map<string, Row>(rows.map((row) => [row.method, row]));
    exact.set(path, { path, pattern, methods, parameters: {} });
  }
  const patterns = [...exact.values()].filter(({ path }) => path.includes("{"));

  const find = (path: string): PathPattern<Row> | undefined => {
    const known = exact.get(path);
    if (known) return known;
    for (const candidate of patterns) {
      const found = candidate.pattern.exec(path);
      if (found) return { ...candidate, parameters: { ...found.groups } };
    }
    return undefined;
  };

  /** Applies only to the routes of OpenAI and Azure: proxies may protect other routes by path prefix. */
  const findFolded = (path: string): PathPattern<Row> | undefined => {
    const folded = path.replace(/\/{2,}/g, "/");
    if (folded === path || !/^\/(?:v1|openai)\//.test(folded)) return undefined;
    const found = find(folded);
    // In `/v1/engines//embeddings` the empty segment is a missing model id, and `embeddings` is not an engine id.
    const isMissing = found?.path.endsWith("}") && path.endsWith(`//${lastParameter(found)}`);
    return isMissing ? undefined : found;
  };

  // A path that matches no route is matched again with repeated slashes folded: some clients double them.
  return (path) => {
    const found = find(path);
    // No model id ends with a slash, so a parameter that does contains a doubled one: `/deployments/m//embeddings`.
    if (found && !lastParameter(found).endsWith("/")) return found;
    return findFolded(path) ?? found;
  };
}

const lastParameter = ({ parameters }: Pick<PathMatch, "parameters">): string =>
  Object.values(parameters).at(-1) ?? "";

export const matchPath: MatchPath<Route> = createMatchPath(routes);

/** The route of a request. HEAD is served by the route of GET. */
export const routeOf = <Row extends RouteRow>(
  { methods }: PathMatch<Row>,
  method: string,
): Row | undefined => methods.get(method === "HEAD" ? "GET" : method);

/** The name of the route for the log. A method that the path does not have gets the name of its first route. */
export function routeName(match: PathMatch | undefined, method: string): RouteName | "unknown" {
  if (!match) return "unknown";
  const [first] = match.methods.values();
  return (routeOf(match, method) ?? first)?.name ?? "unknown";
}

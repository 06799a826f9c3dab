/** Step 1: the routing table: one row per method and path. A test compares docs/api.md with it. */
import { azureRoutes } from "./azure-routes.ts";
import { gatewayRoutes } from "./gateway-routes.ts";
import type { Handler, ParametersOf, RouteRow } from "./route.ts";

const table = [...gatewayRoutes, ...azureRoutes] as const;
type Row = (typeof table)[number];

/** Routes with their own request and response. */
export type OwnRouteName = (typeof gatewayRoutes)[number]["name"];
export type RouteName = Row["name"];

export interface Route extends RouteRow {
  readonly name: RouteName;
  /** The route of which this one is an alias: it has the same requests and responses. */
  readonly sameAs?: OwnRouteName;
}

export const routes: readonly Route[] = table;

/** One handler per route, with the parameters of its path. */
export type Handlers = {
  readonly [R in Row as R["name"]]: Handler<ParametersOf<R["path"]>>;
};

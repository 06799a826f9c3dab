/** What the gateways say about money, read through the admin API. */
import type { Gateways } from "./gateways.ts";
import { type Limits, type Nano, nanoOf, type Period, type Program } from "./program.ts";

export interface Row {
  readonly id: string;
  /** Unix milliseconds, by the clock of the replica. */
  readonly at: number;
  readonly latencyMs: number;
  readonly key: string;
  readonly project: string | null;
  readonly endpoint: string;
  readonly model: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly attempts: number;
  readonly cost: Nano | null;
  readonly estimated: Nano | null;
  readonly endUser: string | null;
  readonly team: string | undefined;
  /** Undefined if not of the program. */
  readonly op: number | undefined;
}

export const chargeOf = ({ cost, estimated }: Row): Nano => (cost ?? 0) + (estimated ?? 0);

interface ShownRow {
  readonly id: string;
  readonly at: string;
  readonly latency_ms: number;
  readonly key_id: string;
  readonly project: string | null;
  readonly endpoint: string;
  readonly model: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly attempts: number;
  readonly cost: number | null;
  readonly estimated_cost: number | null;
  readonly end_user: string | null;
  readonly tags: readonly string[];
}

export async function readRows(gateways: Gateways): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: ShownRow[]; next_cursor: string | null } = await gateways.admin(
      0,
      `/requests?limit=200${query}`,
    );
    rows.push(...page.data.map(toRow));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return rows;
}

function toRow(shown: ShownRow): Row {
  const tag = (prefix: string): string | undefined =>
    shown.tags.find((each) => each.startsWith(prefix))?.slice(prefix.length);
  const op = tag("op:");
  return {
    id: shown.id,
    at: Date.parse(shown.at),
    latencyMs: shown.latency_ms,
    key: shown.key_id.replace(/^file:/, ""),
    project: shown.project,
    endpoint: shown.endpoint,
    model: shown.model,
    status: shown.status,
    error: shown.error,
    attempts: shown.attempts,
    cost: shown.cost === null ? null : nanoOf(shown.cost),
    estimated: shown.estimated_cost === null ? null : nanoOf(shown.estimated_cost),
    endUser: shown.end_user,
    team: tag("team:"),
    op: op === undefined ? undefined : Number(op),
  };
}

/** The owner of a budget. */
export interface Owner {
  readonly scope: "key" | "project" | "end_user" | "tag";
  readonly name: string;
  readonly project?: string;
  /** At the end of the program. */
  readonly limits: Limits;
  /** Unix milliseconds at which every replica has these limits. If absent, from the start. */
  readonly loweredAt?: number;
  owns(row: Row): boolean;
}

export const ownerName = ({ scope, name, project }: Owner): string =>
  `${scope} ${name}${project === undefined ? "" : ` of ${project}`}`;

export const endUsers = ["ada", "bob"] as const;
export const teams = ["red", "blue"] as const;

/** `loweredAt`: when the budget of the program was lowered. */
export function ownersOf({ keys, projects, lowered }: Program, loweredAt: number): Owner[] {
  const owners: Owner[] = [];
  for (const { name, budget } of keys) {
    const isLowered = name === lowered.key;
    const limits = isLowered ? lowered.budget : budget;
    const owns = ({ key }: Row): boolean => key === name;
    if (limits) owners.push({ scope: "key", name, limits, owns, ...(isLowered && { loweredAt }) });
  }
  for (const { name, budget, perEndUser, perTeam } of projects) {
    const isOwn = ({ project }: Row): boolean => project === name;
    if (budget) owners.push({ scope: "project", name, limits: budget, owns: isOwn });
    for (const user of perEndUser ? endUsers : [])
      owners.push({
        scope: "end_user",
        name: user,
        project: name,
        limits: perEndUser!,
        owns: (row) => isOwn(row) && row.endUser === user,
      });
    for (const team of perTeam ? teams : [])
      owners.push({
        scope: "tag",
        name: `team:${team}`,
        project: name,
        limits: perTeam!,
        owns: (row) => isOwn(row) && row.team === team,
      });
  }
  return owners;
}

/** As `periodNames` of the documents: in UTC. */
export function periodOf(period: Period, at: number): string {
  const day = new Date(at).toISOString().slice(0, 10);
  return period === "day" ? day : period === "month" ? day.slice(0, 7) : "total";
}

export interface ShownBudget {
  readonly scope: Owner["scope"];
  readonly name: string;
  readonly project: string | null;
  readonly period: Period;
  readonly spent: Nano;
  readonly reserved: Nano;
}

export async function readBudgets(
  gateways: Gateways,
  replica: number,
  owners: readonly Owner[],
): Promise<ShownBudget[]> {
  const read = async (query: string): Promise<ShownBudget[]> => {
    const { data } = await gateways.admin<{
      data: { spent: number; reserved: number; scope: Owner["scope"] }[];
    }>(replica, `/budgets?limit=200${query}`);
    return data.map((each) => ({
      ...(each as unknown as ShownBudget),
      spent: nanoOf(each.spent),
      reserved: nanoOf(each.reserved),
    }));
  };
  const endUsersAndTags = owners.filter(({ project }) => project !== undefined);
  const all = await Promise.all([
    read(""),
    ...endUsersAndTags.map(({ scope, name, project }) =>
      read(`&project=${project}&${scope}=${encodeURIComponent(name)}`),
    ),
  ]);
  return all.flat();
}

/** What all requests since the program began cost, by project. */
export async function readUsage(
  gateways: Gateways,
  replica: number,
): Promise<ReadonlyMap<string, { readonly charged: Nano; readonly unpriced: number }>> {
  const { data } = await gateways.admin<{
    data: {
      group: { project: string | null };
      cost: number;
      estimated_cost: number;
      requests_without_cost: number;
    }[];
  }>(replica, "/usage?interval=total&group_by=project");
  return new Map(
    data.map(({ group, cost, estimated_cost, requests_without_cost }) => [
      group.project ?? "",
      { charged: nanoOf(cost) + nanoOf(estimated_cost), unpriced: requests_without_cost },
    ]),
  );
}

export interface Threshold {
  readonly scope: string;
  readonly name: string;
  readonly project?: string;
  readonly period: Period;
  readonly percent: number;
  readonly budget: number;
  readonly at: number;
}

export async function readThresholds(gateways: Gateways): Promise<Threshold[]> {
  const { data } = await gateways.admin<{ data: { at: string; data: Threshold }[] }>(
    0,
    "/events?type=budget.threshold&limit=200",
  );
  return data.map(({ data: threshold, at }) => ({ ...threshold, at: Date.parse(at) }));
}

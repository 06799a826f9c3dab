/** Conditions that need attention, each with the page of the console where it is fixed. */
import type { AttentionGroup, AttentionItem, ShownTarget } from "../../../contract/admin.ts";
import type { EventData } from "../../../contract/events.ts";
import { formatDollars } from "../../../contract/format-dollars.ts";
import { message } from "../../../contract/messages/message.ts";
import type { Message } from "../../../contract/messages/message-format.ts";
import type { Key, Snapshot } from "../../config/snapshot.ts";
import { dayMs } from "../../lib/timers.ts";
import type { Actor } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { webhookHost } from "../webhook-host.ts";
import { type BudgetOwnerEntry, projectOwner, showBudgets } from "./budget-status.ts";
import { findKeys } from "./key-names.ts";

/**
 * `project`: only for actors who see it. `gateway`: for every actor. `operator`: for actors who see all projects.
 */
interface ScopedItem {
  readonly item: AttentionItem;
  readonly owner: { readonly project: string | null } | "gateway" | "operator";
}

const expiringWithinMs = 7 * dayMs;
const endingWithinMs = 30 * dayMs;
const nearlySpentShare = 0.8;
/** Items of each type that one actor gets. The others are counted. */
const maxItems = 20;
/** Few, because the sums of their budgets are read on the thread that serves requests. */
const maxProjects = 200;
const maxThresholds = 100;
/** Each computation scans all keys, so several open consoles share one result. */
const reuseMs = 2000;

export function createAttention(options: AdminDependencies) {
  let computed: { readonly at: number; readonly items: Promise<readonly ScopedItem[]> } | undefined;
  return async (actor: Actor): Promise<AttentionGroup[]> => {
    const at = options.now();
    if (!computed || at - computed.at > reuseMs || at < computed.at) {
      computed = { at, items: itemsAt(options, at) };
    }
    const items = await computed.items;
    return byType(items.filter(({ owner }) => maySee(actor, owner)));
  };
}

/** After the items are filtered: items that an actor may not see do not hide others. `items`: errors first. */
function byType(items: readonly ScopedItem[]): AttentionGroup[] {
  const groups = Map.groupBy(
    items.map(({ item }) => item),
    ({ type }) => type,
  );
  return [...groups].map(([type, of]) => ({
    type,
    severity: of[0]?.severity ?? "warning",
    count: of.length,
    items: of.slice(0, maxItems),
  }));
}

function maySee({ projects }: Actor, owner: ScopedItem["owner"]): boolean {
  if (projects === null || owner === "gateway") return true;
  return owner !== "operator" && owner.project !== null && projects.includes(owner.project);
}

/** Errors first. */
const itemsAt = async (options: AdminDependencies, at: number): Promise<ScopedItem[]> =>
  [
    ...ledgerItems(options),
    ...configItems(options),
    ...targetItems(await options.targets()),
    ...(await budgetItems(options, at)),
    ...keyItems(options, at),
    ...modelItems(options, at),
    ...(await webhookItems(options)),
  ].sort((a, b) => rank(a) - rank(b));

const rank = ({ item }: ScopedItem): number => (item.severity === "error" ? 0 : 1);

function ledgerItems({ ledger }: AdminDependencies): ScopedItem[] {
  if (ledger.writable) return [];
  const item: AttentionItem = {
    type: "ledger_unwritable",
    severity: "error",
    subject: "ledger.db",
    ...detailOf(message("ledger_unwritable")),
    link: "/events",
  };
  return [{ item, owner: "operator" }];
}

const configItems = ({ fileProblems }: AdminDependencies): ScopedItem[] =>
  Object.entries(fileProblems()).flatMap(([file, problem]): ScopedItem[] => {
    if (problem === undefined) return [];
    const sentence = problem.replace(/\.?$/, ".");
    const item: AttentionItem = {
      type: "config_rejected",
      severity: "error",
      subject: file,
      ...detailOf(
        message(file === "vexel.yaml" ? "configuration_rejected" : "certificate_rejected", {
          problem: sentence,
        }),
      ),
      link: "/events",
    };
    return [{ item, owner: "operator" }];
  });

const targetItems = (targets: readonly ShownTarget[]): ScopedItem[] =>
  targets
    .filter(({ state }) => state !== "healthy")
    .map(({ upstream, model, models, state, reason, i18n }): ScopedItem => {
      const item: AttentionItem = {
        type: "target_unhealthy",
        severity: state === "cooling" ? "warning" : "error",
        subject: `${upstream}/${model}`,
        detail: reason ?? state,
        ...(i18n && { i18n }),
        link: models[0] === undefined ? "/models" : `/model/${models[0]}`,
      };
      return { item, owner: "gateway" };
    });

/**
 * Checks the projects with a budget, at most `maxProjects`, and the keys that a budget event has named. The current
 * sums of their budgets decide.
 */
async function budgetItems(options: AdminDependencies, at: number): Promise<ScopedItem[]> {
  const { snapshot, budgets } = options;
  const owners = [
    ...projectsWithBudget(snapshot()),
    ...findKeys(snapshot(), await reportedKeys(options))
      .values()
      .flatMap(keyOwner),
  ];
  const shown = await showBudgets(owners, budgets, at);
  return shown
    .filter(({ spent, limit }) => spent >= limit * nearlySpentShare)
    .toSorted((a, b) => b.spent / b.limit - a.spent / a.limit)
    .map(({ name, project, spent, limit, period }): ScopedItem => {
      const isExhausted = spent >= limit;
      const item: AttentionItem = {
        type: isExhausted ? "budget_exhausted" : "budget_nearly_exhausted",
        severity: isExhausted ? "error" : "warning",
        subject: name,
        ...detailOf(
          message("budget_spent", {
            spent: formatDollars(spent),
            limit: formatDollars(limit),
            period,
          }),
        ),
        link: "/budgets",
      };
      return { item, owner: { project } };
    });
}

const detailOf = ({ text, i18n }: Message): Pick<AttentionItem, "detail" | "i18n"> => ({
  detail: text,
  i18n,
});

const projectsWithBudget = ({ projects }: Snapshot): BudgetOwnerEntry[] =>
  [...(projects?.values() ?? [])]
    .flatMap(({ name, budget, archived }) =>
      budget && !archived ? [{ ...projectOwner(name), budget }] : [],
    )
    .slice(0, maxProjects);

const keyOwner = ({ id, name, project, budget, archived }: Key): BudgetOwnerEntry[] =>
  budget && !archived ? [{ scope: "key", id, name, project: project ?? null, budget }] : [];

/** Keys that have recently reached a threshold of their budget. */
async function reportedKeys({ eventViews }: AdminDependencies): Promise<ReadonlySet<string>> {
  const page = await eventViews.events({ type: "budget.threshold", limit: maxThresholds });
  const reported = (page?.data ?? [])
    .map(({ data }) => data as unknown as EventData["budget.threshold"])
    .filter(({ scope, percent }) => scope === "key" && percent >= nearlySpentShare * 100);
  return new Set(reported.map(({ id }) => id));
}

/** Fewer failures in a row are usual: a receiver restarts. */
const minWebhookFailures = 3;

/** Without the path of the URL, which may be a credential. */
async function webhookItems({ eventViews }: AdminDependencies): Promise<ScopedItem[]> {
  const { data } = await eventViews.webhooks();
  return data
    .filter(
      ({ state, consecutive_failures: failures }) =>
        state === "gone" || failures >= minWebhookFailures,
    )
    .map(({ url, state, consecutive_failures: count, last_attempt: last }): ScopedItem => {
      const item: AttentionItem = {
        type: "webhook_failing",
        severity: "error",
        subject: url === "mailto:" ? "contacts of projects" : webhookHost(url),
        ...detailOf(
          state === "gone"
            ? message("webhook_gone")
            : message("webhook_failures", { count, problem: last?.problem ?? "" }),
        ),
        link: "/webhooks",
      };
      return { item, owner: "operator" };
    });
}

/** The keys that expire first. */
function keyItems({ snapshot }: AdminDependencies, at: number): ScopedItem[] {
  const items: ScopedItem[] = [];
  for (const { name, project = null, expiresAt, archived } of snapshot().keys.values()) {
    if (archived || expiresAt === undefined || expiresAt <= at || expiresAt - at > expiringWithinMs)
      continue;
    const item: AttentionItem = {
      type: "key_expiring",
      severity: "warning",
      subject: name,
      detail: new Date(expiresAt).toISOString(),
      link: "/keys",
    };
    items.push({ item, owner: { project } });
  }
  return items.sort(byDetail);
}

/** Details that are dates, the earliest first. */
const byDetail = ({ item: one }: ScopedItem, { item: other }: ScopedItem): number =>
  one.detail < other.detail ? -1 : Number(one.detail > other.detail);

const modelItems = ({ snapshot }: AdminDependencies, at: number): ScopedItem[] =>
  [...snapshot().models.values()]
    .filter(
      ({ shutdownDate }) =>
        shutdownDate !== undefined && Date.parse(shutdownDate) - at < endingWithinMs,
    )
    .map(({ id, shutdownDate = "" }): ScopedItem => {
      const item: AttentionItem = {
        type: "model_ending",
        severity: Date.parse(shutdownDate) <= at ? "error" : "warning",
        subject: id,
        detail: shutdownDate,
        link: `/model/${id}`,
      };
      return { item, owner: "gateway" };
    })
    .sort(byDetail);

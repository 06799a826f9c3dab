/**
 * The law of the invoice. Requests and invoice lines that share a text are one group: of each group, the costs of the
 * rows add up to the lines whose usage and price are known, and what may have been billed in addition is estimated.
 */
import { chargeOf, type Row } from "./account.ts";
import type { Outcome } from "./clients.ts";
import { type InvoiceLine, isBilled } from "./invoice.ts";
import {
  isEmbeddings,
  isShared,
  models,
  type Nano,
  type Op,
  opOf,
  type Program,
} from "./program.ts";
import { dollars, sum, type Violation } from "./violation.ts";

interface Group {
  readonly lines: InvoiceLine[];
  readonly ops: Set<number>;
  readonly rows: Row[];
}

export interface InvoiceInput {
  readonly program: Pick<Program, "keys" | "projects">;
  readonly invoice: readonly InvoiceLine[];
  readonly rows: readonly Row[];
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

const namesOf = (op: Op): string[] =>
  (isEmbeddings(op) ? op.texts : op.prompts).map((text) => text.slice(0, text.indexOf(" ")));

export function checkInvoice(input: InvoiceInput): Violation[] {
  const violations: Violation[] = [];
  const { rows, outcomes, invoice } = input;
  const ids = rows.map(({ id }) => id);
  const doubled = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (doubled.length > 0)
    violations.push({ law: "invoice: doubled row", text: `rows with one id: ${doubled}` });
  for (const row of rows)
    if (!isRefusedUnread(row) && (row.op === undefined || !outcomes.has(row.op)))
      violations.push({ law: "invoice: unknown row", text: `a row of no request: ${row.id}` });
  for (const group of groupsOf(input)) violations.push(...checkGroup(group, input));
  const known = new Set(outcomes.keys());
  for (const line of invoice)
    if (line.names.some((name) => !isShared(name) && !known.has(opOf(name))))
      violations.push({ law: "invoice: unknown line", text: `${line.names} was never sent` });
  return violations;
}

/** Its key had as many requests in flight as it may have: its tags were not read. */
const isRefusedUnread = (row: Row): boolean =>
  row.error === "rate_limited" && row.attempts === 0 && chargeOf(row) === 0;

function groupsOf({ invoice, rows, outcomes }: InvoiceInput): Group[] {
  const parents = new Map<string, string>();
  const find = (node: string): string => {
    const parent = parents.get(node) ?? node;
    if (parent === node) return node;
    const root = find(parent);
    parents.set(node, root);
    return root;
  };
  const join = (a: string, b: string): void => {
    const [from, to] = [find(a), find(b)];
    if (from !== to) parents.set(from, to);
  };
  /** Vectors of two models are not shared. */
  const textNode = (model: string, name: string): string =>
    isShared(name) ? `text ${model} ${name}` : `op ${opOf(name)}`;
  const modelOf: Readonly<Record<string, string>> = {
    "alpha-embed": "pair",
    "beta-embed": "single",
    "gamma-embed": "unpriced",
  };
  for (const { op } of outcomes.values())
    for (const name of namesOf(op)) join(`op ${op.id}`, textNode(op.model, name));
  invoice.forEach((line, at) => {
    for (const name of line.names)
      join(`line ${at}`, textNode(modelOf[line.model] ?? line.model, name));
  });
  const groups = new Map<string, Group>();
  const groupOf = (node: string): Group => {
    const root = find(node);
    let group = groups.get(root);
    if (!group) {
      group = { lines: [], ops: new Set(), rows: [] };
      groups.set(root, group);
    }
    return group;
  };
  for (const id of outcomes.keys()) groupOf(`op ${id}`).ops.add(id);
  invoice.forEach((line, at) => void groupOf(`line ${at}`).lines.push(line));
  for (const row of rows) if (row.op !== undefined) groupOf(`op ${row.op}`).rows.push(row);
  return [...groups.values()];
}

const hasBudget = ({ keys, projects }: InvoiceInput["program"], op: Op): boolean => {
  const key = keys.find(({ name }) => name === op.key);
  const project = projects.find(({ name }) => name === key?.project);
  return (
    key?.budget !== undefined ||
    project?.budget !== undefined ||
    (op.endUser !== undefined && project?.perEndUser !== undefined) ||
    (op.team !== undefined && project?.perTeam !== undefined)
  );
};

function checkGroup(group: Group, { outcomes, program }: InvoiceInput): Violation[] {
  const { lines, ops, rows } = group;
  const violations: Violation[] = [];
  const outcomesOf = [...ops].flatMap((id) => outcomes.get(id) ?? []);
  const isPriced = outcomesOf.every(({ op }) => models[op.model].priced);
  const cost = sum(rows.map((row) => row.cost ?? 0));
  const estimated = sum(rows.map((row) => row.estimated ?? 0));
  const name = describe(group, outcomesOf);
  const add = (law: string, text: string): void =>
    void violations.push({ law: `invoice: ${law}`, text: `${text}. ${name}` });

  const withRows = new Set(rows.map(({ op }) => op));
  const billed = lines.filter(isBilled);
  for (const { op, status } of outcomesOf) {
    const own = billed.filter((line) => line.names.some((text) => opOf(text) === op.id));
    if (own.length === 0 || withRows.has(op.id)) continue;
    const whose = hasBudget(program, op) ? "" : ", key without a budget";
    add(
      `no row${status === undefined ? " after kill -9" : ""}${whose}`,
      `${own.length} invoice lines of ${dollars(sum(own.map(({ amount }) => amount ?? 0)))} have no row of ${op.kind} ${op.id}`,
    );
  }
  if (!isPriced) {
    for (const row of rows)
      if (chargeOf(row) !== 0)
        add("unknown price", `a request without a price is charged ${dollars(chargeOf(row))}`);
    const served = billed.some(({ state }) => state === "served");
    if (served && rows.length > 0 && rows.every((row) => row.cost === 0))
      add("unknown price", "a request without a known price has the cost 0, not null");
    return violations;
  }

  const isComplete = outcomesOf.every((outcome) => outcome.isComplete);
  const uses = new Map<string, number>();
  for (const line of billed)
    for (const text of line.names) uses.set(text, (uses.get(text) ?? 0) + 1);
  const sendersOf = (text: string): Outcome[] =>
    outcomesOf.filter(({ op }) =>
      isShared(text) ? namesOf(op).includes(text) : op.id === opOf(text),
    );
  const isCertain = (line: InvoiceLine): boolean =>
    line.state === "served" &&
    line.names.every(
      (text) => uses.get(text) === 1 && sendersOf(text).every((outcome) => outcome.isComplete),
    );
  /**
   * One of several texts was given up meanwhile, because its client left or its attempt took too long: its row has an
   * estimate instead of its part.
   */
  const hasLeft = (line: InvoiceLine): boolean =>
    line.state === "served" &&
    (line.names.length > 1 || line.names.some(isShared)) &&
    line.names.some(
      (text) =>
        (line.names.length > 1 && (uses.get(text) ?? 0) > 1) ||
        sendersOf(text).some((outcome) => !outcome.isComplete),
    );
  const certain = billed.filter(isCertain);
  const partial = billed.filter(hasLeft);
  const flexible = billed.filter(
    (line) => line.state === "served" && !isCertain(line) && !hasLeft(line),
  );
  const others = billed.filter(({ state }) => state !== "served");
  const certainSum = sum(certain.map(({ amount }) => amount ?? 0));
  const partialSum = sum(partial.map(({ amount }) => amount ?? 0));
  const tolerance = rows.length + billed.length + 1;
  const leftOut = leastLeftOut(flexible, {
    from: cost - certainSum - partialSum - tolerance,
    to: cost - certainSum + tolerance,
  });
  const states = [...Map.groupBy(billed, ({ state }) => state)].map(
    ([state, own]) =>
      `${dollars(sum(own.map(({ amount }) => amount ?? 0)))} ${state} in ${own.length} lines`,
  );
  const all = `the rows cost ${dollars(cost)} and ${dollars(estimated)} estimated, the invoice has ${states.join(", ") || "nothing"}`;
  if (leftOut === undefined) {
    const most = sum(flexible.map(({ amount }) => amount ?? 0)) + certainSum + partialSum;
    const isMore = cost > most + tolerance;
    // A row that is missing is named above.
    if (isMore || violations.length === 0)
      add(isMore ? "cost without an invoice line" : "cost below the invoice", all);
    return violations;
  }
  const needed = leftOut + sum(others.map(({ least }) => least));
  if (estimated + tolerance < needed && violations.length === 0) {
    const ofBudgets = sum(
      [...flexible, ...others].map(({ names, least }) => {
        const own = names.filter((text) => {
          const outcome = outcomes.get(opOf(text));
          return outcome !== undefined && hasBudget(program, outcome.op);
        });
        return (least * own.length) / names.length;
      }),
    );
    const whose = estimated + tolerance < ofBudgets ? "" : ", key without a budget";
    add(`no estimate${whose}`, `${all}: at least ${dollars(needed)} should be estimated`);
  }
  // The gateway has given up an attempt before the vendor had read it.
  const isUnread = ({ op, attempts }: Row): boolean =>
    attempts > lines.filter(({ names }) => names.some((text) => opOf(text) === op)).length;
  const mayBeMore =
    rows.some(isUnread) ||
    others.length > 0 ||
    flexible.length > 0 ||
    partial.length > 0 ||
    !isComplete;
  if (!mayBeMore && estimated > 0) add("estimate without a reason", all);
  return violations;
}

/**
 * Some of the lines make up a sum in the range: the least that the others should be estimated at. Undefined if none of
 * their sums is in it.
 */
function leastLeftOut(
  lines: readonly InvoiceLine[],
  wanted: { readonly from: Nano; readonly to: Nano },
): Nano | undefined {
  let sums = new Map<Nano, Nano>([[0, 0]]);
  for (const { amount, least } of lines) {
    const next = new Map<Nano, Nano>();
    const keep = (total: Nano, left: Nano): void => {
      if (total <= wanted.to) next.set(total, Math.min(left, next.get(total) ?? left));
    };
    for (const [total, left] of sums) {
      keep(total, left + least);
      keep(total + (amount ?? 0), left);
    }
    sums = next;
    // So many sums that one of them fits always.
    if (sums.size > 200_000) return 0;
  }
  const found = [...sums].filter(([total]) => total >= wanted.from && total <= wanted.to);
  return found.length === 0 ? undefined : Math.min(...found.map(([, left]) => left));
}

function describe({ rows, lines }: Group, outcomes: readonly Outcome[]): string {
  const shown = outcomes.slice(0, 6).map(({ op, status, errorCode, failure }) => {
    const result = failure === undefined ? `${status} ${errorCode ?? ""}` : "no response";
    const left = op.leavesAfterMs === undefined ? "" : ` leaves after ${op.leavesAfterMs} ms`;
    const own = rows.filter((row) => row.op === op.id);
    const amounts = own
      .slice(0, 3)
      .map(({ cost, estimated }) => `${dollars(cost)} + ${dollars(estimated)}`);
    const more = own.length > 3 ? ` and ${own.length - 3} rows` : "";
    return `${op.kind} ${op.id} of ${op.key} (${op.model}, ${op.behaviors.join("+") || "ok"}${left}): ${result.trim()}, ${amounts.join(", ") || "no row"}${more}`;
  });
  const more = outcomes.length > 6 ? ` and ${outcomes.length - 6} more` : "";
  const sent = lines
    .slice(0, 8)
    .map(({ names, state }) => `${state} ${names.slice(0, 6).join(" ")}`);
  return `[${shown.join("; ")}${more}] [${sent.join("; ")}]`;
}

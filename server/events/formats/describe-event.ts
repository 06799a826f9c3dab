/** An event in words, for people who read it in a chat or in an e-mail. */

import type { EventData } from "../../../contract/events.ts";
import { formatDollars } from "../../../contract/format-dollars.ts";
import type { StoredEvent } from "../../storage/sql/event-store.ts";

export interface DescribedEvent {
  /** One line. */
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly tone: "bad" | "good" | "neutral";
}

/** A chat shows ten fields of a message. */
const maxFacts = 10;
const maxValueLength = 500;

type AlertData = EventData["alert.firing"];

const metrics: Readonly<
  Record<AlertData["metric"], { readonly title: string; show(value: number): string }>
> = {
  error_rate: { title: "Error rate", show: (value) => `${rounded(value)} %` },
  latency_p95: { title: "Latency (p95)", show: (value) => `${rounded(value)} ms` },
  spend: { title: "Spend", show: formatDollars },
  unhealthy_targets: { title: "Unhealthy targets", show: rounded },
};

export function describeEvent({ type, at, data }: StoredEvent): DescribedEvent {
  const time = ["Time", new Date(at).toISOString()] as const;
  if (type === "alert.firing" || type === "alert.resolved") {
    return describeAlert(type, data as unknown as AlertData);
  }
  const facts = Object.entries(data).map(([name, value]) => [label(name), text(value)] as const);
  return {
    title: titleOf(type, data),
    facts: [...facts.filter(([, value]) => value !== ""), time].slice(-maxFacts),
    tone: toneOf(type),
  };
}

function describeAlert(type: "alert.firing" | "alert.resolved", data: AlertData): DescribedEvent {
  const { title, show } = metrics[data.metric];
  const isFiring = type === "alert.firing";
  const value = data.value === null ? "too few requests" : show(data.value);
  const facts: (readonly [string, string | null])[] = [
    [title, value],
    ["Bound", show(data.above)],
    ["Window", data.metric === "unhealthy_targets" ? null : `${data.minutes} minutes`],
    ["Model", data.model],
    ["Project", data.project],
    ["Upstream", data.upstream],
    ["Since", data.since],
  ];
  return {
    title: `${isFiring ? "Alert" : "Resolved"}: ${data.name}`,
    facts: facts.flatMap(([name, fact]) => (fact === null ? [] : [[name, fact] as const])),
    tone: isFiring ? "bad" : "good",
  };
}

/** Such as `Target ejected: openai gpt-image-1`. */
function titleOf(type: string, data: StoredEvent["data"]): string {
  if (type === "budget.threshold") {
    const { name, percent, period, budget } = data as unknown as EventData["budget.threshold"];
    return `Budget threshold: ${name} has reached ${percent} % of ${formatDollars(budget)} (${period})`;
  }
  const words = type.replace(/[._]/g, " ");
  const subject = [data.name ?? data.upstream, data.target_model].filter(
    (each) => typeof each === "string",
  );
  const sentence = `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
  return subject.length === 0 ? sentence : `${sentence}: ${subject.join(" ")}`;
}

function toneOf(type: string): DescribedEvent["tone"] {
  if (/recovered|realigned|reloaded/.test(type)) return "good";
  return /ejected|drifted|rejected|unwritable|unavailable|threshold/.test(type) ? "bad" : "neutral";
}

const label = (name: string): string => {
  const words = name.replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

function text(value: unknown): string {
  const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
  return value === null || value === undefined ? "" : shown.slice(0, maxValueLength);
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}

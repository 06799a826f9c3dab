/**
 * The contacts of projects as one receiver of budget alerts. The address is read when the e-mail is sent, so a change
 * of the contact is in force at once, and the queue has one worker for all projects.
 */
import type { EventData } from "../../contract/events.ts";
import type { Project, Snapshot, Webhook } from "../config/snapshot.ts";
import { memoize } from "../lib/memoize.ts";
import type { StoredEvent } from "../storage/sql/event-store.ts";
import type { MailOptions, SendMail } from "./formats/send-mail.ts";

const receiver: Webhook = Object.freeze({
  id: "project-contacts",
  // Without an address: each event has its own.
  url: "mailto:",
  events: ["budget.threshold"],
});

const withContacts = (webhooks: ReadonlyMap<string, Webhook>): ReadonlyMap<string, Webhook> =>
  new Map([...webhooks, [receiver.id, receiver]]);

const hasContact = memoize((projects: ReadonlyMap<string, Project>): boolean =>
  projects.values().some(({ contact }) => contact !== undefined),
);
const joined = memoize(withContacts);
const none: ReadonlyMap<string, Webhook> = new Map();

export function createProjectContacts(snapshot: () => Snapshot, { smtpUrl }: MailOptions) {
  /** Undefined if the project of the event has no contact. */
  const contactOf = ({ type, data }: Pick<StoredEvent, "type" | "data">): string | undefined => {
    if (type !== "budget.threshold") return undefined;
    const { scope, id, project } = data as unknown as EventData["budget.threshold"];
    const { projects, keys } = snapshot();
    const ofKey = scope === "key" ? keys.findById(id)?.project : undefined;
    return projects?.get((scope === "project" ? id : (project ?? ofKey)) ?? "")?.contact;
  };

  return {
    /** The webhooks of the operator and, if a project has a contact and e-mail is set up, this receiver. */
    webhooks: (): ReadonlyMap<string, Webhook> => {
      const { webhooks = none, projects } = snapshot();
      return smtpUrl !== "" && projects && hasContact(projects) ? joined(webhooks) : webhooks;
    },
    /** Undefined: its subscription decides. */
    isReceiver: (webhook: Webhook, event: StoredEvent): boolean | undefined =>
      webhook === receiver ? contactOf(event) !== undefined : undefined,
    /** A contact that was removed since gets nothing. */
    sendMail:
      (send: SendMail): SendMail =>
      async (url, event, signal) => {
        const contact = url === receiver.url ? contactOf(event) : undefined;
        if (url === receiver.url && contact === undefined) return;
        await send(contact === undefined ? url : `mailto:${contact}`, event, signal);
      },
  };
}

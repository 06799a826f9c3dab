/** Sends events by e-mail over SMTP (nodemailer, imported at the first e-mail). */
import { Socket } from "node:net";
import { abortable } from "../../lib/tasks.ts";
import type { StoredEvent } from "../../storage/sql/event-store.ts";
import { describeEvent } from "./describe-event.ts";

export interface MailOptions {
  /** VEXEL_SMTP_URL. Empty: e-mail is not configured. */
  readonly smtpUrl: string;
  /** VEXEL_SMTP_FROM. */
  readonly from: string;
}

/** Throws an Error with a message for the operator. Once the signal aborts, the connection is closed. */
export type SendMail = (url: string, event: StoredEvent, signal: AbortSignal) => Promise<void>;

/** For the connection, with the greeting of the server. */
const connectMs = 10_000;
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

export function createSendMail({ smtpUrl, from }: MailOptions): SendMail {
  return async (url, event, signal) => {
    if (smtpUrl === "") throw new Error("e-mail needs the setting VEXEL_SMTP_URL");
    const { createTransport } = await import("nodemailer");
    const { hostname, protocol, password } = new URL(smtpUrl);
    // The transport cannot be stopped; its socket can.
    const socket = new Socket();
    const onAbort = (): void => void socket.destroy();
    signal.addEventListener("abort", onAbort, { once: true });
    const transport = createTransport({
      url: smtpUrl,
      socket,
      connectionTimeout: connectMs,
      // A password is never sent in plain text over a network.
      requireTLS: protocol === "smtp:" && password !== "" && !loopback.test(hostname),
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const { title, facts } = describeEvent(event);
    try {
      const sent = transport.sendMail({
        from,
        to: new URL(url).pathname.split(","),
        subject: `[Vexel] ${title}`,
        text: `${title}\n\n${facts.map(([name, value]) => `${name}: ${value}`).join("\n")}\n`,
        // A delivery that is repeated has the same id, so that mailboxes can drop the copy.
        messageId: `<${event.id}@vexel>`,
      });
      await abortable(sent, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      transport.close();
    }
  };
}

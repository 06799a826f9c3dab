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

export interface MailMessage {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** A mail that is repeated has the same id, so that mailboxes can drop the copy. */
  readonly messageId: string;
}

/** Throws an Error with a message for the operator. Once the signal aborts, the connection is closed. */
export type SendMessage = (message: MailMessage, signal: AbortSignal) => Promise<void>;

/** Throws as `SendMessage`. `url`: `mailto:` with the addresses. */
export type SendMail = (url: string, event: StoredEvent, signal: AbortSignal) => Promise<void>;

/** For the connection, with the greeting of the server. */
const connectMs = 10_000;
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

export function createSendMessage({ smtpUrl, from }: MailOptions): SendMessage {
  return async (message, signal) => {
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
    try {
      await abortable(transport.sendMail({ from, ...message, to: [...message.to] }), signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      transport.close();
    }
  };
}

export function createSendMail(options: MailOptions): SendMail {
  const send = createSendMessage(options);
  return (url, event, signal) => {
    const { title, facts } = describeEvent(event);
    const message = {
      to: new URL(url).pathname.split(","),
      subject: `[Vexel] ${title}`,
      text: `${title}\n\n${facts.map(([name, value]) => `${name}: ${value}`).join("\n")}\n`,
      messageId: `<${event.id}@vexel>`,
    };
    return send(message, signal);
  };
}

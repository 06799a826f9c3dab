/** A fake mail server: speaks SMTP over a real socket, and keeps the messages that it accepts. */
import { createServer, type Socket } from "node:net";

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The headers and the body. */
  readonly text: string;
}

interface SmtpServer {
  /** `smtp://…` */
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Open connections. */
  connections(): number;
  close(): Promise<void>;
}

interface SmtpServerOptions {
  /** The response to every recipient, such as `550 No such user`. */
  readonly refusal?: string;
  /** It reads mails and never says whether it accepts them. */
  readonly isSilent?: true;
}

export async function startSmtpServer(options: SmtpServerOptions = {}): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    converse(socket, mails, options);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    connections: () => sockets.size,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** RFC 5321, section 3: a session with one command at a time. */
function converse(
  socket: Socket,
  mails: ReceivedMail[],
  { refusal, isSilent }: SmtpServerOptions,
): void {
  let pending = "";
  let from = "";
  let to: string[] = [];
  let isData = false;
  const say = (line: string): boolean => socket.write(`${line}\r\n`);
  const addressIn = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? "";
  const commands: Readonly<Record<string, (line: string) => void>> = {
    EHLO: () => say("250 fake"),
    HELO: () => say("250 fake"),
    MAIL: (line) => {
      from = addressIn(line);
      to = [];
      say("250 OK");
    },
    RCPT: (line) => {
      if (refusal === undefined) to.push(addressIn(line));
      say(refusal ?? "250 OK");
    },
    DATA: () => {
      isData = true;
      say("354 End with a line that has only a full stop");
    },
    QUIT: () => {
      say("221 Bye");
      socket.end();
    },
  };
  say("220 fake ESMTP");
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    pending += chunk.toString("utf8");
    for (;;) {
      const end = pending.indexOf(isData ? "\r\n.\r\n" : "\r\n");
      if (end < 0) return;
      const line = pending.slice(0, end);
      pending = pending.slice(end + (isData ? 5 : 2));
      if (isData) {
        isData = false;
        mails.push({ from, to, text: line });
        if (!isSilent) say("250 Accepted");
      } else {
        const command = commands[line.slice(0, 4).toUpperCase()];
        if (command) command(line);
        else say("502 Unknown");
      }
    }
  });
}

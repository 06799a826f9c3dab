/** One connection to an upstream: one call at a time, its answer taken whole. */
import { codeOf } from "../../std/error-code.ts";
import { Answer } from "./answer.ts";

export interface Address {
  readonly hostname: string;
  readonly port: number;
}

/** Who waits for an answer. Told once, in one of the two ways. */
export interface Asker {
  answered(answer: Answer): void;
  /** With BrokenOff, NotHttp, TooLarge, or what `fail` was called with. */
  failed(error: unknown): void;
}

/** Nothing was sent: no connection came about. */
export class NotConnected extends Error {
  override readonly name = "NotConnected";
  readonly code: string;

  constructor(cause: unknown) {
    super("no connection", { cause });
    this.code = codeOf(cause);
  }
}

/** It ended before the answer was complete. */
export class BrokenOff extends Error {
  override readonly name = "BrokenOff";
  /** Not a byte of an answer had come. */
  readonly silent: boolean;

  constructor(silent: boolean, cause?: unknown) {
    super("the connection broke", { cause });
    this.silent = silent;
  }
}

type Socket = Bun.Socket<Connection>;

export class Connection {
  closed = false;
  /** When it was last put aside, in milliseconds. */
  idleSince = 0;
  #socket: Socket | undefined;
  #asker: Asker | undefined;
  #answer: Answer | undefined;
  /** What the socket did not take yet. */
  #unsent: Buffer | undefined;

  static async open({ hostname, port }: Address): Promise<Connection> {
    const connection = new Connection();
    try {
      connection.#socket = await Bun.connect<Connection>({
        hostname,
        port,
        data: connection,
        socket: handlers,
      });
      connection.#socket.setNoDelay(true);
      return connection;
    } catch (cause) {
      throw new NotConnected(cause);
    }
  }

  ask(request: string, maxBytes: number, asker: Asker): void {
    this.#asker = asker;
    this.#answer = new Answer(maxBytes);
    const written = this.closed ? -1 : (this.#socket as Socket).write(request);
    if (written < 0) this.fail(new BrokenOff(true));
    // Every character is at least one byte: only a long request has to be measured.
    else if (written < request.length || written < Buffer.byteLength(request)) {
      this.#unsent = Buffer.from(request).subarray(written);
    }
  }

  /** Gives up on the call and on the connection: what still comes would belong to nobody. */
  fail(error: unknown): void {
    const asker = this.#asker;
    this.#asker = undefined;
    this.close();
    asker?.failed(error);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket?.terminate();
  }

  take(piece: Buffer): void {
    const asker = this.#asker;
    const answer = this.#answer as Answer;
    // Nobody asked: it is no answer to anything.
    if (!asker) {
      this.close();
      return;
    }
    try {
      answer.push(piece);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (answer.done) this.#finish(asker, answer);
  }

  drained(): void {
    const rest = this.#unsent;
    if (!rest || !this.#socket) return;
    const written = this.#socket.write(rest);
    this.#unsent = written < rest.length ? rest.subarray(Math.max(0, written)) : undefined;
  }

  ended(cause?: unknown): void {
    const asker = this.#asker;
    const answer = this.#answer;
    if (asker && answer) {
      answer.close();
      if (answer.done && cause === undefined) this.#finish(asker, answer);
      else this.fail(new BrokenOff(!answer.begun, cause));
    }
    this.close();
  }

  #finish(asker: Asker, answer: Answer): void {
    this.#asker = undefined;
    this.#answer = undefined;
    // An answer before all was sent: the rest would be taken for the next request.
    if (!answer.reusable || this.#unsent) this.close();
    asker.answered(answer);
  }
}

const handlers: Bun.SocketHandler<Connection> = {
  data: ({ data }, piece) => data.take(piece),
  drain: ({ data }) => data.drained(),
  end: ({ data }) => data.ended(),
  close: ({ data }, error) => data.ended(error),
  error: ({ data }, error) => data.ended(error),
};

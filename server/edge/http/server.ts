/**
 * HTTP/1.1 on Bun's sockets. Bun's own server makes a Request, a Response and their headers for each call, which cost
 * more than everything a known vector needs; ARCHITECTURE.md has the figures.
 */
import { Connection, type Socket } from "./connection.ts";
import type { House } from "./house.ts";

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly reply: House["reply"];
  readonly refuse: House["refuse"];
  readonly onBroken: House["onBroken"];
  readonly bodyMs: number;
  readonly idleMs: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface Server {
  readonly port: number;
  /** Requests whose answer has not left to the last byte. */
  pending(): number;
  /** From now on each answer ends its connection, so that callers who keep theirs go elsewhere. */
  beginStop(): void;
  /** Takes no new connections; resolves when the open ones are done, or at once when `now`. */
  stop(now: boolean): Promise<void>;
}

/** Nobody honest needs longer from the first byte of a head to its last. */
const mostHeadMs = 60_000;
const lingerMs = 2_000;
/** A caller who takes nothing of its answer for so long will not come back for it. */
const mostTakeMs = 60_000;
/** So much may lie here for callers who do not take it, and for so long if it is more. */
const mostUnsentBytes = 256 * 1024 * 1024;
const patientMs = 2_000;

export function startServer(options: ServerOptions): Server {
  const { reply, refuse, onBroken, bodyMs, idleMs, clock } = options;
  const connections = new Set<Connection>();
  const house: House = {
    reply,
    refuse,
    onBroken,
    now: clock(),
    date: dateLine(),
    stopping: false,
    times: {
      headMs: Math.min(idleMs, mostHeadMs),
      idleMs,
      takeMs: Math.min(idleMs, mostTakeMs),
      bodyMs,
      lingerMs,
    },
  };
  const tick = (): void => {
    house.now = clock();
    house.date = dateLine();
    for (const connection of connections) connection.check();
    relieve(connections, house.now);
  };
  const ticking = setInterval(tick, Math.min(1000, idleMs / 4, bodyMs / 4));
  // The listening socket is what keeps the process alive.
  ticking.unref();
  let stopped = false;
  const allGone = Promise.withResolvers<void>();
  const forget = (socket: Socket): void => {
    socket.data.gone();
    connections.delete(socket.data);
    if (stopped && connections.size === 0) allGone.resolve();
  };

  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    socket: {
      open: (socket) => {
        socket.data = new Connection(socket, house);
        connections.add(socket.data);
      },
      data: (socket, piece) => socket.data.take(piece),
      drain: (socket) => socket.data.drained(),
      end: forget,
      close: forget,
      // Told of what was thrown in the others: a defect, after which nobody knows where this connection stands.
      error: (socket, defect) => {
        onBroken(defect);
        socket.data.cut();
      },
    },
  });

  return {
    port: listener.port,
    pending: () => {
      let count = 0;
      for (const { isBusy } of connections) if (isBusy) count++;
      return count;
    },
    beginStop: () => {
      house.stopping = true;
    },
    stop: async (now) => {
      house.stopping = true;
      stopped = true;
      listener.stop(false);
      for (const connection of connections) {
        if (now) connection.cut();
        else connection.endIfIdle();
      }
      if (connections.size > 0) await allGone.promise;
      clearInterval(ticking);
    },
  };
}

const dateLine = (): string => `date: ${new Date().toUTCString()}\r\n`;

type Stuck = Pick<Connection, "unsentBytes" | "since" | "cut">;

/** Answers that nobody takes must not fill the memory: whoever has taken nothing for longest goes first. */
export function relieve(connections: Iterable<Stuck>, now: number): void {
  let bytes = 0;
  for (const { unsentBytes } of connections) bytes += unsentBytes;
  if (bytes <= mostUnsentBytes) return;
  const stuck = [...connections].filter(
    ({ unsentBytes, since }) => unsentBytes > 0 && now - since > patientMs,
  );
  for (const connection of stuck.sort((a, b) => a.since - b.since)) {
    bytes -= connection.unsentBytes;
    connection.cut();
    if (bytes <= mostUnsentBytes) return;
  }
}

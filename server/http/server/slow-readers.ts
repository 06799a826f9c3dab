/** Bounds the memory of responses that clients do not read. */
import type { ClientSocket } from "./client-socket.ts";

/**
 * The limit of backpressure: unread bytes of the responses of all clients. Above it, clients that have read nothing for
 * `slowReaderMs` are reset.
 */
const maxUnsentBytes = 256 * 1024 * 1024;
const slowReaderMs = 2_000;

type Reader = Pick<ClientSocket, "unsentBytes" | "lastActivityAt" | "reset">;

/** Unread responses must not fill the memory: the client that has read nothing for longest is reset first. */
export function resetSlowReaders(sockets: Iterable<Reader>, now: number): void {
  let bytes = 0;
  for (const { unsentBytes } of sockets) bytes += unsentBytes;
  if (bytes <= maxUnsentBytes) return;
  const slow = [...sockets].filter(
    ({ unsentBytes, lastActivityAt: since }) => unsentBytes > 0 && now - since > slowReaderMs,
  );
  for (const socket of slow.sort((a, b) => a.lastActivityAt - b.lastActivityAt)) {
    bytes -= socket.unsentBytes;
    socket.reset();
    if (bytes <= maxUnsentBytes) return;
  }
}

/**
 * Detects an unsolicited response: bytes that wait unread in the kernel's buffer of a socket. A pooled connection must
 * be silent when a request is written on it: bytes that wait there are not the response to that request. The event loop
 * alone cannot tell, because it may serve a client's request before it reads an upstream's socket that became readable
 * in the same turn.
 * Waiting until the event loop has read all sockets, instead of this check, let about ten times as many wrong responses
 * through (an upstream that repeats 2 % of its responses after 0 to 3 ms).
 */
import { dlopen, type Pointer, ptr } from "bun:ffi";

/** `ended`: the peer has closed the connection, or is about to. */
export type UnsolicitedBytes = "none" | "ended" | "unsolicited";

/**
 * Over an ArrayBuffer of its own, whose address is stable: a short pooled buffer moves when a subarray of it is read.
 */
const peekBuffer = Buffer.from(new ArrayBuffer("HTTP/1.1 408".length));

/**
 * Returns the number of bytes copied into `peekBuffer`, 0 if the connection has ended or failed, or -1 if nothing
 * waits.
 */
type Peek = (fd: number) => number;

/** MSG_PEEK and MSG_DONTWAIT. The additional system call costs a third of a microsecond. */
const platforms: Readonly<Record<string, { flags: number; libraries: readonly string[] }>> = {
  linux: {
    flags: 0x02 | 0x40,
    libraries: ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"],
  },
  darwin: { flags: 0x02 | 0x80, libraries: ["libSystem.B.dylib"] },
};

/** Null if no C library can be called here. */
let peek: Peek | null | undefined;

/** Bun's types leave out the descriptor. */
export function unsolicitedBytes(socket: { readonly fd?: number } | object): UnsolicitedBytes {
  const fd = "fd" in socket ? (socket.fd ?? -1) : -1;
  if (peek === undefined) peek = loadPeek();
  // Without a check no connection is reused.
  if (fd < 0 || !peek) return "ended";
  const length = peek(fd);
  if (length < 0) return "none";
  return length > 0 && isResponse(peekBuffer.subarray(0, length)) ? "unsolicited" : "ended";
}

/**
 * Whether unsolicited bytes could be a response. Some servers send a line break after a body, and some send a 408 on an
 * idle connection before they close it: such a connection is not reused, and nothing else is wrong.
 */
export const isResponse = (start: Uint8Array): boolean =>
  !/^(?:[\r\n]*$|HTTP\/1\.[01] 408)/.test(
    Buffer.from(start.subarray(0, peekBuffer.length)).toString("latin1"),
  );

function loadPeek(): Peek | null {
  const platform = platforms[process.platform];
  if (!platform) return null;
  const { flags } = platform;
  for (const library of platform.libraries) {
    try {
      const { symbols } = dlopen(library, {
        // The result is as wide as a pointer, but its lower half is enough: `peekBuffer` is short.
        recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i32" },
      });
      const into: Pointer = ptr(peekBuffer);
      const receive: Peek = (fd) => symbols.recv(fd, into, peekBuffer.length, flags);
      // -1 means that nothing waits, or that the connection was reset. The system reports an error once: after a reset,
      // the second call reports the end of the connection.
      return (fd) => {
        const length = receive(fd);
        return length < 0 ? receive(fd) : length;
      };
    } catch {
      // Another C library, or none that can be called: try the next.
    }
  }
  return null;
}

/**
 * What the kernel holds for a socket that has not been read yet. A kept connection must be silent when a request is
 * written on it: bytes that wait there are not the response to that request. The event loop alone cannot tell, because it
 * may serve a client's request before it reads an upstream's socket that became readable in the same turn.
 */
import { dlopen, type Pointer, ptr } from "bun:ffi";
import { readSync } from "node:fs";
import { errorCode } from "../../lib/error-code.ts";

/** `ended`: the peer has closed the connection, or is about to. */
export type UnsolicitedBytes = "none" | "ended" | "unsolicited";

/** Over a buffer of its own, whose address stays the same: a short one without is moved when a part of it is looked at. */
const room = Buffer.from(new ArrayBuffer("HTTP/1.1 408".length));

/** Returns how many bytes were copied into `room`, 0 where the connection has ended or failed, or -1 where nothing waits. */
type Peek = (fd: number) => number;

/** MSG_PEEK and MSG_DONTWAIT. A system call of its own costs a third of a microsecond. */
const platforms: Readonly<Record<string, { flags: number; libraries: readonly string[] }>> = {
  linux: {
    flags: 0x02 | 0x40,
    libraries: ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"],
  },
  darwin: { flags: 0x02 | 0x80, libraries: ["libSystem.B.dylib"] },
};

let peek: Peek | undefined;

/** Bun's types leave out the descriptor. */
export function unsolicitedBytes(socket: { readonly fd?: number } | object): UnsolicitedBytes {
  const fd = "fd" in socket ? (socket.fd ?? -1) : -1;
  if (fd < 0) return "ended";
  peek ??= peekByLibrary() ?? peekByRead;
  const length = peek(fd);
  if (length < 0) return "none";
  return length > 0 && isResponse(room.subarray(0, length)) ? "unsolicited" : "ended";
}

/**
 * Whether bytes that no request asked for could be a response. Some servers put a line break behind a body, and some send a
 * 408 on an idle connection before they close it: such a connection carries no more requests, and nothing else is wrong.
 */
export const isResponse = (start: Uint8Array): boolean =>
  !/^(?:[\r\n]*$|HTTP\/1\.[01] 408)/.test(
    Buffer.from(start.subarray(0, room.length)).toString("latin1"),
  );

export function peekByLibrary(): Peek | undefined {
  const platform = platforms[process.platform];
  if (!platform) return undefined;
  const { flags } = platform;
  for (const library of platform.libraries) {
    try {
      const { symbols } = dlopen(library, {
        // Of the result, which is as wide as a pointer, the lower half is enough: `room` is short.
        recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i32" },
      });
      const into: Pointer = ptr(room);
      const receive: Peek = (fd) => symbols.recv(fd, into, room.length, flags);
      // -1 means that nothing waits, or that the connection was reset. The system reports an error once: of a connection
      // that was reset, the second call says that it has ended.
      return (fd) => {
        const length = receive(fd);
        return length < 0 ? receive(fd) : length;
      };
    } catch {
      // Another C library, or none that can be called: the next, or a plain read.
    }
  }
  return undefined;
}

/** Takes the bytes out of the socket, which does no harm: a connection on which bytes wait is closed. */
export const peekByRead: Peek = (fd) => {
  try {
    return readSync(fd, room, 0, room.length, null);
  } catch (error) {
    return errorCode(error) === "EAGAIN" ? -1 : 0;
  }
};

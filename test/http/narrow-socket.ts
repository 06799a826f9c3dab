/** A connection without a server, on a socket that accepts only some bytes. */
import type { ServerContext } from "../../server/http/server/server-context.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { toErrorResponse } from "../../server/request/error-response.ts";
import { timeouts } from "./http-server-fixture.ts";

/** A socket that accepts a given number of bytes at a time, and records the calls. */
export class NarrowSocket {
  readonly calls: string[] = [];
  accepted = "";
  /** The most bytes that it accepts at a time. */
  freeBytes: number;
  constructor(freeBytes = 0) {
    this.freeBytes = freeBytes;
  }
  write(data: string | Uint8Array, from = 0, length?: number): number {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const accepted = bytes.subarray(
      from,
      from + Math.min(this.freeBytes, length ?? bytes.length - from),
    );
    this.freeBytes -= accepted.length;
    this.accepted += Buffer.from(accepted).toString("latin1");
    return accepted.length;
  }
  shutdown = () => void this.calls.push("shutdown");
  end = () => void this.calls.push("end");
  terminate = () => void this.calls.push("terminate");
  pause = () => void this.calls.push("pause");
  resume = () => void this.calls.push("resume");
}

/** The context of a connection that is always admitted. */
export const contextWith = (response: ServerContext["onRequest"]): ServerContext => ({
  onRequest: response,
  refuse: toErrorResponse,
  onError: (error) => {
    throw error;
  },
  now: 0,
  dateHeader: "",
  isProbe: () => false,
  refuseConnection: () => toErrorResponse(new GatewayError("overloaded", "too many connections")),
  limit: { admit: () => true, becameIdle: () => undefined },
  isStopping: false,
  timeouts,
});

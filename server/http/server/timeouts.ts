/** The clock of an HTTP server and the timeouts of its connections. */

export interface ServerTime {
  /**
   * Milliseconds, monotonic, up to a second old: reading the clock each time would cost as much as finding the route.
   */
  now: number;
  readonly timeouts: Timeouts;
}

/** In milliseconds. */
export interface Timeouts {
  /** For the whole TLS handshake. */
  readonly handshakeMs: number;
  /** For a whole request head, from its first byte. */
  readonly headMs: number;
  /** For the next request on a keep-alive connection. */
  readonly idleMs: number;
  /** For the client to read more of a response. */
  readonly writeMs: number;
  /** For more of a body that is being discarded. */
  readonly bodyMs: number;
  /** For the client to close after our FIN, since its last byte. */
  readonly lingerMs: number;
  /** For all of a body that is being discarded, and for all bytes that arrive after the last response. */
  readonly drainMs: number;
  /** For how long an idle connection keeps its last request head, which the next request often repeats. */
  readonly headCacheMs: number;
}

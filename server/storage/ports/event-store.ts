/** Port: events, and the queue of their webhook deliveries, which is written in the same transaction (outbox). */

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface NewEvent extends StoredEvent {
  /** An event with the same key is not recorded again. The column is `once`. */
  readonly deduplicationKey?: string;
}

export interface EventDelivery {
  readonly webhook: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly due: number;
  readonly lastAt: number | null;
  readonly status: number | null;
  readonly problem: string | null;
}

export type DeliveryState = "waiting" | "delivered" | "abandoned";

export interface ListedEvent extends StoredEvent {
  readonly deliveries: readonly EventDelivery[];
}

export interface EventQuery {
  /** Cursor: the id of the last event of the previous page. */
  readonly after?: string | undefined;
  /** Absent: all types. */
  readonly types?: readonly string[] | undefined;
  readonly limit: number;
}

export interface Recorded {
  /** False: it was a duplicate. */
  readonly isNew: boolean;
  /** Webhooks whose oldest delivery was abandoned because too many were pending. */
  readonly overflowed: readonly string[];
}

/** Every method rejects once the store is closed. */
export interface EventStore {
  /** Stores an event and a pending delivery for each webhook: all or nothing. */
  record(event: NewEvent, webhooks: readonly string[]): Promise<Recorded>;
  /** Newest first. Undefined: `after` is not the id of a stored event. */
  list(query: EventQuery): Promise<readonly ListedEvent[] | undefined>;
  /** A persistent position, to continue from after a restart. */
  mark(name: string): Promise<number | undefined>;
  setMark(name: string, value: number): Promise<void>;
  /** Deletes some of the events that are too old or too many, with their deliveries. `now`: Unix milliseconds. */
  prune(now: number): Promise<void>;
}

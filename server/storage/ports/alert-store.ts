/** Port: which alerts are firing, and which process evaluates the rules now. Replicas share both. */

export interface StoredAlert {
  /** The name of the rule. */
  readonly name: string;
  readonly isFiring: boolean;
  /** Unix milliseconds: when it began to fire, or was resolved. */
  readonly since: number;
  /** The event of the last change is recorded. */
  readonly isAnnounced: boolean;
  /** The data of the event of the last change. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Every method rejects once the store is closed. */
export interface AlertStore {
  /** Takes or renews the lease of the evaluation. False: another process has it. Times: Unix milliseconds. */
  claim(owner: string, now: number, until: number): Promise<boolean>;
  list(): Promise<readonly StoredAlert[]>;
  /** Creates or replaces the state of an alert. */
  put(alert: StoredAlert): Promise<void>;
  delete(name: string): Promise<void>;
}

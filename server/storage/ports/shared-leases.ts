/** Port: the pools behind limits and budgets that replicas share. A replica leases slices of a pool. */

export interface LeaseRequest {
  readonly pool: string;
  /** Each pool object of a replica holds slices of its own. */
  readonly holder: string;
  readonly limit: number;
  /** Parts per item, so that a pool refills without rounding. */
  readonly unit: number;
  /** The pool is a token bucket: it refills by `limit` parts per millisecond. */
  readonly refills: boolean;
  /** The pool is a counting semaphore: the items that a replica has spent return to the pool when the replica dies. */
  readonly isSemaphore: boolean;
  /** Grows with each request: a request that arrives after a later one is ignored. */
  readonly sequence: number;
  /** Running totals of this replica. A lower `granted` than before gives the difference back to the pool. */
  readonly granted: number;
  readonly spent: number;
  /** The `spent` of the last lease request that got a reply. */
  readonly acknowledged: number;
  /** A smaller grant than this is of no use. */
  readonly least: number;
  /** Items that waiting requests need. */
  readonly needed: number;
  /** Items for expected requests: granted only if the pool has plenty. */
  readonly wanted: number;
  readonly leaseMs: number;
  /** How long the pool is kept when it is not used. */
  readonly retentionMs: number;
  /** The epoch of the last reply. Empty: there was no reply. */
  readonly epoch: string;
  /** In parts: the remainder of the pool, as far as this replica knows. A pool of another epoch gets at most this. */
  readonly unspent: number;
}

export interface LeaseReply {
  readonly granted: number;
  /** In parts. Negative: more was spent than the limit. */
  readonly available: number;
  /** In parts: available items, and leased items that are not spent. */
  readonly unspent: number;
  readonly epoch: string;
  /** Another replica waits for items. */
  readonly othersWait: boolean;
}

export interface SharedLeases {
  /**
   * Reports what a replica has spent, renews its lease, and grants it more items. The first request creates the pool.
   * Rejects a request that arrives after a later one of the same holder, and changes nothing then.
   */
  lease(request: LeaseRequest): Promise<LeaseReply>;
}

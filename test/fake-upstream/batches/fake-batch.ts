/** A batch of a fake vendor, and what a vendor's wire format needs. */

/** One line of a file of results. */
export interface FakeResult {
  readonly id: string;
  readonly status: number;
  readonly body: unknown;
}

export interface FakeBatch {
  readonly id: string;
  readonly name: string;
  readonly inputFile: string;
  /** The whole request that created it. */
  readonly request: Readonly<Record<string, unknown>>;
  state: "validating" | "running" | "cancelling" | "completed" | "cancelled" | "expired" | "failed";
  results: readonly FakeResult[];
  reason?: { readonly code: string; readonly message: string };
}

/** How a vendor's wire format differs. */
export interface FakeDialect {
  handle(request: Request, vendor: FakeState): Promise<Response | undefined>;
}

export interface FakeState {
  readonly origin: string;
  readonly files: Map<string, string>;
  /** The ids of files that were deleted. */
  readonly deleted: string[];
  newFileId(): string;
  readonly batches: FakeBatch[];
  create(batch: Pick<FakeBatch, "name" | "inputFile" | "request">): FakeBatch;
  /** The batch after one more step: as a poll sees it. */
  advance(id: string): FakeBatch | undefined;
  cancel(id: string): FakeBatch | undefined;
}

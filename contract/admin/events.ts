/** Events and webhooks. */
export interface ShownEvent {
  readonly object: "event";
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly deliveries: readonly {
    readonly webhook: string;
    readonly state: "waiting" | "delivered" | "abandoned";
    readonly attempts: number;
    readonly last_attempt_at: string | null;
    readonly next_attempt_at: string | null;
    readonly status: number | null;
    readonly problem: string | null;
  }[];
}

export interface ShownWebhook {
  readonly object: "webhook";
  readonly id: string;
  /** Without its query string, which often contains a token. */
  readonly url: string;
  readonly events: readonly string[];
  readonly state: "active" | "gone";
  readonly waiting: number;
  readonly delivered: number;
  readonly abandoned: number;
  readonly consecutive_failures: number;
  readonly last_attempt: {
    readonly event: string;
    readonly at: string;
    readonly delivered: boolean;
    readonly status: number | null;
    readonly problem: string | null;
  } | null;
}

/** The result of a test event. It is not recorded. */
export interface WebhookTest {
  readonly object: "webhook.test";
  readonly webhook: string;
  readonly event: string;
  readonly delivered: boolean;
  readonly status: number | null;
  readonly problem: string | null;
  readonly duration_ms: number;
}

/** Alert rules: a measured value, and the bound above which the alert fires. */
import { z } from "zod";
import { alertMetrics } from "../admin/constants.ts";
import { maxWebhooks } from "../admin/list-bounds.ts";
import { id, name } from "./names.ts";

/** A day. */
const maxMinutes = 1440;

export const alert = z.strictObject({
  name,
  metric: z.enum(alertMetrics),
  /** Percent of requests, milliseconds, US dollars, or a number of targets. */
  above: z.number().min(0).max(1_000_000_000),
  /** The window over which requests are counted. */
  minutes: z.int().min(5).max(maxMinutes).default(15),
  /** With fewer requests in the window, error rate and latency are not judged. */
  minRequests: z.int().min(1).max(1_000_000).default(20),
  /** Only requests of this model or project, or of targets of this upstream. */
  model: id.optional(),
  project: name.optional(),
  upstream: id.optional(),
  /** The names of the webhooks that get its events, whatever they subscribe to. The default is those that subscribe. */
  receivers: z.array(name).min(1).max(maxWebhooks).optional(),
});

/** 30 days. A rule that nobody wants to hear of is deleted. */
const maxSilenceMinutes = 43_200;

/** Until when no webhook hears of an alert, and why. */
export const silenceBody = z.strictObject({
  minutes: z.int().min(1).max(maxSilenceMinutes).describe("From now on."),
  reason: z.string().trim().min(1).max(300),
});

/** The steps of a ledger row as messages. The texts of the ledger are those of docs/observability.md. */
import type { RequestStep } from "../../../contract/admin.ts";
import { formatMessage } from "../../../contract/messages/message-format.ts";
import { stepMessages } from "../../../contract/messages/step-messages.ts";

type StepId = keyof typeof stepMessages;

/** The groups of a format are the values of its message. The first format that matches is the step. */
const formats: readonly (readonly [StepId, RegExp])[] = [
  ["step_moderation_passed", /^moderation: passed$/],
  ["step_moderation_flagged", /^moderation: flagged$/],
  ["step_moderation_failed", /^moderation: (?<error>\w+)$/],
  ["step_adapted", /^adapted: (?<parameter>.+)$/],
  ["step_not_converted", /^image not converted: (?<error>\w+)$/],
  ["step_replayed", /^replayed: (?<request>\S+)$/],
  ["step_failed_with", /^failed with: (?<request>\S+)$/],
  ["step_stored", /^response stored$/],
  ["step_implausible", /^(?<quantity>[\w ]+) implausible$/],
  ["step_vendor_batch", /^run in a batch of the vendor$/],
  ["step_killed", /^the gateway was killed before the request finished$/],
  ["step_unsupported", /^(?<target>.+?): skipped, request not supported: (?<error>\w+)$/],
  ["step_at_limits", /^(?<target>.+?): skipped, at its limits$/],
  ["step_rate_limited", /^(?<target>.+?): skipped, its rate limit is reached$/],
  [
    "step_failing",
    /^(?<target>.+?): skipped, (?<count>\d+) failures in a row, the last: (?<error>.+)$/,
  ],
  ["step_cooling", /^(?<target>.+?): skipped, (?<error>.+)$/],
  ["step_busy", /^(?<target>.+?): busy$/],
  ["step_hedged", /^(?<target>.+?): hedged, because the first target was slow$/],
  ["step_generated", /^(?<target>.+?): generated$/],
  ["step_streaming", /^(?<target>.+?): streaming$/],
  ["step_one_image", /^(?<target>.+?): one image per request$/],
  [
    "step_images_billed",
    /^(?<target>.+?): (?<error>\w+) for (?<count>\d+) of (?<requested>\d+), may have been billed$/,
  ],
  ["step_images_failed", /^(?<target>.+?): (?<error>\w+) for (?<count>\d+) of (?<requested>\d+)$/],
  ["step_failed_billed", /^(?<target>.+?): (?<error>\w+), may have been billed$/],
  ["step_failed", /^(?<target>.+?): (?<error>\w+)$/],
];

/** A step without a format, such as one of an earlier version, is shown as it is stored. */
export function showStep(stored: string): RequestStep {
  for (const [id, format] of formats) {
    const groups = format.exec(stored);
    if (groups) return formatMessage(id, stepMessages[id], { ...groups.groups });
  }
  return { text: stored };
}

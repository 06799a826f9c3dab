/** The steps of a ledger row as messages, which the console translates. */
import type { RequestStep } from "../../../contract/admin.ts";
import { formatMessage } from "../../../contract/messages/message-format.ts";
import { stepMessages } from "../../../contract/messages/step-messages.ts";
import { readStep } from "../../../contract/request-steps.ts";

/** A text that is no step, such as that of an earlier version, is shown as it is stored. */
export function showStep(stored: string): RequestStep {
  const step = readStep(stored);
  if (!step) return { text: stored };
  const id = `step_${step.code}` as const;
  return formatMessage(id, stepMessages[id], step.values);
}

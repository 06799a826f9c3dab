/** Wires the encryption of stored secrets: with `VEXEL_SECRET`, or with the generated key of the data folder. */
import type { Settings } from "../settings.ts";
import { SecretBox } from "../storage/encrypt-secret.ts";

export const secretBoxFor = (
  settings: Pick<Settings, "VEXEL_DATA" | "VEXEL_SECRET" | "VEXEL_SECRET_PREVIOUS">,
): SecretBox =>
  new SecretBox({
    folder: settings.VEXEL_DATA,
    ...secretsOf(settings),
  });

/** The current secret, and earlier ones. */
export const secretsOf = (settings: Pick<Settings, "VEXEL_SECRET" | "VEXEL_SECRET_PREVIOUS">) => ({
  secret: settings.VEXEL_SECRET,
  previous: settings.VEXEL_SECRET_PREVIOUS.split(",").filter((secret) => secret !== ""),
});

/** The first steps of a connection: the name is resolved, the port is connected to, the certificate is checked. */
import { isIP } from "node:net";
import type { ConnectionStep, ConnectionStepName } from "../../../contract/admin.ts";
import { errorCode } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { withTimeout } from "../../lib/timers.ts";
import { type Resolve, resolveAllowed } from "../download/index.ts";
import { checkConnection, NotConnected, type TlsTrust, urlAddress } from "../transport/index.ts";

export interface ConnectionStepsOptions {
  readonly resolve: Resolve;
  /** Timeout of each step. */
  readonly timeoutMs: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Certificate authorities to trust. Absent: those of the runtime. */
  readonly tls?: TlsTrust | undefined;
}

/** Resolves with one step each for DNS, TCP and TLS. The steps after a failed one are skipped. */
export async function runConnectionSteps(
  url: URL,
  { resolve, timeoutMs, clock, tls = {} }: ConnectionStepsOptions,
): Promise<readonly ConnectionStep[]> {
  const address = urlAddress(url);
  const { hostname, port } = address;
  const isEncrypted = url.protocol === "https:";
  let checked: readonly string[] = [];
  const work: readonly (readonly [ConnectionStepName, (() => Promise<string>)?])[] = [
    [
      "dns",
      async () => {
        const addresses = await withTimeout(resolveAllowed(hostname, resolve), timeoutMs);
        if (!addresses) throw { code: "ETIMEDOUT" };
        if (addresses.length === 0) throw { code: "ENOTFOUND" };
        checked = addresses;
        return `${hostname} resolves to ${addresses.slice(0, 4).join(", ")}.`;
      },
    ],
    [
      "tcp",
      async () =>
        connectToFirst(checked, (hostname) =>
          checkConnection({ ...address, hostname }, timeoutMs),
        ).then(() => `Port ${port} accepts connections.`),
    ],
    isEncrypted
      ? [
          "tls",
          async () => {
            const serverName = isIP(hostname) === 0 ? hostname : undefined;
            // The checked address: a second lookup could return another (DNS rebinding).
            await connectToFirst(checked, (hostname) =>
              checkConnection({ ...address, hostname, tls: { ...tls, serverName } }, timeoutMs),
            );
            return `The certificate is valid for ${hostname}.`;
          },
        ]
      : ["tls"],
  ];
  const steps: ConnectionStep[] = [];
  for (const [step, run] of work) {
    const hasFailed = steps.some(({ result }) => result === "failed");
    if (hasFailed) steps.push(stepOf(step, "skipped", ""));
    else if (run) steps.push(await runStep(step, run, { hostname, port, clock }));
    else steps.push(stepOf(step, "skipped", "The address is plain http."));
  }
  return steps;
}

/** Rejects with the error of the last address. */
async function connectToFirst(
  addresses: readonly string[],
  connect: (address: string) => Promise<unknown>,
): Promise<void> {
  for (const [at, address] of addresses.entries()) {
    try {
      await connect(address);
      return;
    } catch (error) {
      if (at === addresses.length - 1) throw error;
    }
  }
}

export const stepOf = (
  step: ConnectionStepName,
  result: ConnectionStep["result"],
  detail: string,
  duration_ms: number | null = null,
): ConnectionStep => ({ step, result, detail, duration_ms });

interface StepContext {
  readonly hostname: string;
  readonly port: number;
  readonly clock: () => number;
}

async function runStep(
  step: ConnectionStepName,
  run: () => Promise<string>,
  { hostname, port, clock }: StepContext,
): Promise<ConnectionStep> {
  const startedAt = clock();
  const end = (result: "passed" | "failed", detail: string): ConnectionStep =>
    stepOf(step, result, detail, Math.round(clock() - startedAt));
  try {
    return end("passed", await run());
  } catch (error) {
    if (error instanceof GatewayError) return end("failed", error.message);
    const code = error instanceof NotConnected ? error.code : errorCode(error);
    return end("failed", explain(step, code, `${hostname}:${port}`, hostname));
  }
}

const certificateProblems: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "it is signed by an authority that the gateway does not know",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "it is signed by an authority that the gateway does not know",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "it is signed by an authority that the gateway does not know",
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another host name",
};

function explain(
  step: ConnectionStepName,
  code: string,
  address: string,
  hostname: string,
): string {
  const suffix = code === "" ? "" : ` (${code})`;
  if (step === "dns") {
    return code === "EAI_AGAIN" || code === "ETIMEDOUT"
      ? `The name server did not answer for ${hostname}${suffix}. Check the network of the gateway.`
      : `The name ${hostname} does not exist${suffix}. Check the base URL.`;
  }
  if (step === "tls") {
    const problem = certificateProblems[code];
    return problem === undefined
      ? `The TLS handshake with ${address} failed${suffix}. Check whether the port speaks https.`
      : `The certificate of ${hostname} is not valid: ${problem}${suffix}. To trust another authority, set NODE_EXTRA_CA_CERTS.`;
  }
  if (code === "ECONNREFUSED" || code === "ConnectionRefused") {
    return `Nothing listens at ${address}${suffix}. Check the port, and whether the server runs.`;
  }
  return code === "ETIMEDOUT"
    ? `${address} did not accept a connection in time${suffix}. A firewall may block it.`
    : `${address} cannot be connected to${suffix}.`;
}

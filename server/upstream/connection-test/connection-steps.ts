/** The first steps of a connection: the name is resolved, the port is connected to, the certificate is checked. */
import { isIP } from "node:net";
import type { ConnectionStep, ConnectionStepName } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import type { Message } from "../../../contract/messages/message-format.ts";
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
  /** Certificate authorities to trust. The default is those of the runtime. */
  readonly tls?: TlsTrust | undefined;
}

/** What a step found. Without `i18n`: a text of the vendor. */
export type FoundMessage = Pick<Message, "text"> & Partial<Message>;

/** Resolves with one step each for DNS, TCP and TLS. The steps after a failed one are skipped. */
export async function runConnectionSteps(
  url: URL,
  { resolve, timeoutMs, clock, tls = {} }: ConnectionStepsOptions,
): Promise<readonly ConnectionStep[]> {
  const address = urlAddress(url);
  const { hostname, port } = address;
  const isEncrypted = url.protocol === "https:";
  let checked: readonly string[] = [];
  const work: readonly (readonly [ConnectionStepName, (() => Promise<Message>)?])[] = [
    [
      "dns",
      async () => {
        const addresses = await withTimeout(resolveAllowed(hostname, resolve), timeoutMs);
        if (!addresses) throw { code: "ETIMEDOUT" };
        if (addresses.length === 0) throw { code: "ENOTFOUND" };
        checked = addresses;
        return message("dns_resolved", {
          host: hostname,
          addresses: addresses.slice(0, 4).join(", "),
        });
      },
    ],
    [
      "tcp",
      async () =>
        connectToFirst(checked, (hostname) =>
          checkConnection({ ...address, hostname }, timeoutMs),
        ).then(() => message("tcp_open", { port: String(port) })),
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
            return message("tls_valid", { host: hostname });
          },
        ]
      : ["tls"],
  ];
  const steps: ConnectionStep[] = [];
  for (const [step, run] of work) {
    const hasFailed = steps.some(({ result }) => result === "failed");
    if (hasFailed) steps.push(stepOf(step, "skipped"));
    else if (run) steps.push(await runStep(step, run, { hostname, port, clock }));
    else steps.push(stepOf(step, "skipped", message("tls_plain")));
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

/** The vendor's or the guard's own text has no id. */
export const messageOf = ({ message: text, i18n }: GatewayError): FoundMessage => ({
  text,
  ...(i18n && { i18n }),
});

export const stepOf = (
  step: ConnectionStepName,
  result: ConnectionStep["result"],
  found?: FoundMessage,
  duration_ms: number | null = null,
): ConnectionStep => ({
  step,
  result,
  detail: found?.text ?? "",
  ...(found?.i18n && { i18n: found.i18n }),
  duration_ms,
});

interface StepContext {
  readonly hostname: string;
  readonly port: number;
  readonly clock: () => number;
}

async function runStep(
  step: ConnectionStepName,
  run: () => Promise<Message>,
  { hostname, port, clock }: StepContext,
): Promise<ConnectionStep> {
  const startedAt = clock();
  const end = (result: "passed" | "failed", found: FoundMessage): ConnectionStep =>
    stepOf(step, result, found, Math.round(clock() - startedAt));
  try {
    return end("passed", await run());
  } catch (error) {
    if (error instanceof GatewayError) return end("failed", messageOf(error));
    const code = error instanceof NotConnected ? error.code : errorCode(error);
    return end("failed", explain(step, code, `${hostname}:${port}`, hostname));
  }
}

const certificateProblems = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate_self_signed",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate_unknown_authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate_unknown_authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate_unknown_authority",
  CERT_HAS_EXPIRED: "certificate_expired",
  CERT_NOT_YET_VALID: "certificate_not_yet_valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate_other_host",
} as const;

function explain(step: ConnectionStepName, code: string, address: string, host: string): Message {
  const suffix = code === "" ? "" : ` (${code})`;
  if (step === "dns") {
    return code === "EAI_AGAIN" || code === "ETIMEDOUT"
      ? message("dns_no_answer", { host, code: suffix })
      : message("dns_unknown", { host, code: suffix });
  }
  if (step === "tls") {
    const problem = certificateProblems[code as keyof typeof certificateProblems];
    return problem === undefined
      ? message("tls_failed", { address, code: suffix })
      : message("tls_invalid", { host, problem: message(problem), code: suffix });
  }
  if (code === "ECONNREFUSED" || code === "ConnectionRefused") {
    return message("tcp_refused", { address, code: suffix });
  }
  return code === "ETIMEDOUT"
    ? message("tcp_timeout", { address, code: suffix })
    : message("tcp_failed", { address, code: suffix });
}

/** Runs the gateway: read the configuration, build, listen, follow changes, drain, stop. */
import { build, type Gateway } from "./app.ts";
import { fileText } from "./config/file-text.ts";
import { releaseAll } from "./lib/release-all.ts";
import { createLog, type Log } from "./observe/log.ts";
import type { Settings } from "./settings.ts";
import { type FolderLock, lockFolder } from "./storage/folder-lock.ts";
import { type KeyStore, openKeyStore } from "./storage/keys.ts";
import { guardAgainstCrashes, stackOf } from "./wiring/crash-guard.ts";
import { buildEngines } from "./wiring/embedded-models.ts";
import { followConfiguration } from "./wiring/reload-config.ts";
import { awaitStop, endProcess, untilStopped } from "./wiring/shutdown.ts";
import { welcomeText } from "./wiring/startup-message.ts";
import { unknownSettings } from "./wiring/unknown-settings.ts";

export interface RunOptions {
  readonly settings: Settings;
  /** The configuration file was named, so it must be there. */
  readonly configNamed: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the exit code once the gateway has stopped. */
export async function run({ settings, configNamed, env }: RunOptions): Promise<number> {
  // What is written is for this user alone, also in a folder that others may read.
  process.umask(0o077);
  const log = openLog(settings);
  const clock = () => performance.now();
  const crash = guardAgainstCrashes(log);
  let keys: KeyStore;
  let lock: FolderLock;
  try {
    keys = openKeyStore(settings.VEXEL_DATA, Date.now);
    lock = lockFolder(settings.VEXEL_DATA);
  } catch (error) {
    return complain(wordsOf(error));
  }
  const { engines, migan } = buildEngines({
    idleMs: settings.VEXEL_EMBEDDED_IDLE * 1000,
    onReady: (model, facts) => log.info("embedded-model-ready", { model, ...facts }),
  });
  let gateway: Gateway | undefined;
  const events = () => gateway?.events;
  const followed = followConfiguration({
    settings,
    configNamed,
    env,
    keys,
    migan,
    log,
    events,
    now: Date.now,
  });
  if (!followed.ok) return complain(followed.problems);
  for (const { name, nearest } of unknownSettings(env, fileText(settings.VEXEL_CONFIG).text)) {
    log.warn("unknown-setting", { name, nearest });
  }
  let newKey: string | undefined;
  try {
    gateway = build({ settings, snapshot: followed.snapshot, engines, log });
    // Not before it listens: a key that is made and then not shown would lock everyone out.
    newKey = followed.firstKey();
  } catch (error) {
    followed.close();
    await gateway?.close();
    return complain(startProblem(error, settings));
  }
  // Before anyone hears that it runs, or a signal in the next moment would end it without a drain.
  const stop = awaitStop(clock);
  process.stdout.write(welcomeText({ url: gateway.url, snapshot: followed.snapshot(), newKey }));
  await untilStopped({ gateway, stop, crash, settings, log, clock });
  try {
    await releaseAll([() => followed.close(), () => keys.close(), () => lock.release()]);
  } catch (error) {
    log.error("internal-error", { error: stackOf(error) });
  }
  log.flush();
  return endProcess({ stop, crash, settings, log, clock });
}

function openLog(settings: Settings): Log {
  const { VEXEL_LOG_FORMAT: format, VEXEL_LOG_LEVEL: level } = settings;
  // Whoever reads the log may be gone. That is no reason to stop serving, nor to stop in disorder.
  process.stderr.on("error", () => undefined);
  const chosen = format === "auto" ? (process.stderr.isTTY ? "text" : "json") : format;
  return createLog({
    level,
    format: chosen,
    now: () => new Date(),
    write: (text) => process.stderr.write(text),
  });
}

const nowhere: ReadonlySet<string> = new Set(["EINVAL", "EADDRNOTAVAIL", "ENOTFOUND"]);

const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function startProblem(error: unknown, { HOST, PORT }: Settings): string {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (code === "EADDRINUSE") {
    return `Port ${PORT} on ${HOST} is already in use. Choose another: PORT=8081 npm start`;
  }
  if (syscall === "listen" && code === "EACCES") {
    return `Port ${PORT} on ${HOST} may not be used: permission denied. Choose one above 1023.`;
  }
  // Of a name that nobody knows, Bun says no more than that.
  if (nowhere.has(String(code)) || (!code && wordsOf(error) === `Failed to listen at ${HOST}`)) {
    return `HOST=${HOST} is not an address of this machine.`;
  }
  return `The gateway could not start: ${wordsOf(error)}`;
}

function complain(problem: string): number {
  process.stderr.write(`${problem}\n`);
  return 1;
}

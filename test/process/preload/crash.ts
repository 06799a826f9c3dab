/** Preloaded into a gateway: throws an uncaught exception at SIGUSR2, or at an interval. */

const crash = (): void => {
  if (process.env.TEST_CRASH_KIND === "rejection") void Promise.reject(testError());
  else throw testError();
};

function testError(): Error {
  return new Error("an uncaught test error");
}

process.on("SIGUSR2", () => setTimeout(crash));
const everyMs = Number(process.env.TEST_CRASH_EVERY_MS ?? 0);
// Not before the crash guard is installed: an error while modules load is not a crash of a gateway.
const isGuarded = (): boolean => process.listenerCount("uncaughtException") > 0;
if (everyMs > 0) setInterval(() => isGuarded() && crash(), everyMs);

/** Problems of a page that no user should meet: console errors, exceptions, failed requests. */
import type { BrowserContext } from "playwright-core";

export interface PageProblems {
  /** Requests that the test expects to fail, such as `/^403 POST .*\/users$/`. */
  expectFailure(pattern: RegExp): void;
  list(): readonly string[];
}

/** The page requests the session; 401 says that no user is signed in. */
const notSignedIn = /^401 GET \S*\/admin\/api\/session$/;

/**
 * The playgrounds request the ledger row of a request for its cost until the row is written, which takes up to a
 * second.
 */
const notWrittenYet = /^404 GET \S*\/admin\/api\/requests\/req_\w+$/;

/**
 * A page cancels its requests when it is left. Chromium cancels requests when a network interface of the machine
 * appears or disappears, as in the tests of the topology.
 */
const harmlessFailures: ReadonlySet<string> = new Set([
  "net::ERR_ABORTED",
  "net::ERR_NETWORK_CHANGED",
]);

export function collectProblems(context: BrowserContext): PageProblems {
  const problems: string[] = [];
  const expected = [notSignedIn, notWrittenYet];
  context.on("response", (response) => {
    if (response.status() >= 400)
      problems.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
  context.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    if (!harmlessFailures.has(reason))
      problems.push(`failed ${request.method()} ${request.url()}: ${reason}`);
  });
  context.on("weberror", (error) => problems.push(`exception: ${error.error().stack}`));
  context.on("console", (message) => {
    // Failed responses are collected above, with their method and status.
    if (message.type() !== "error" || message.text().startsWith("Failed to load resource")) return;
    problems.push(`console error: ${message.text()}`);
  });
  return {
    expectFailure: (pattern) => void expected.push(pattern),
    list: () => problems.filter((problem) => !expected.some((pattern) => pattern.test(problem))),
  };
}

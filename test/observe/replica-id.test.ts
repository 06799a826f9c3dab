/** The id of the process that served a request. */
import { expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { startCollector } from "./otlp-collector.ts";

const fake = startFake();
const collector = startCollector();
closeAfterAll(fake, collector);

test("response, log, ledger and spans of a request have the same replica", async () => {
  using folder = temporaryFolder();
  await using resources = new AsyncDisposableStack();
  const token = "admin-token-0123456789";
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: "always_on",
      VEXEL_ADMIN_TOKEN: token,
      VEXEL_LOG_LEVEL: "info",
    },
  });
  resources.defer(() => gateway.close());
  const response = await gateway.post("/v1/embeddings", {
    model: "text-embedding-3-small",
    input: "an otter",
  });
  const replica = response.headers.get("vexel-replica") ?? "";
  expect(replica).toMatch(/^[0-9a-f]{12}$/);
  const id = response.headers.get("x-request-id") ?? "";
  const headers = { authorization: `Bearer ${token}` };
  const detail = () => fetch(`${gateway.url}/admin/api/requests/${id}`, { headers });
  // The row moves from the outbox into the ledger soon after the response.
  await until(async () => (await detail()).status === 200);
  expect(await (await detail()).json()).toMatchObject({ id, replica });
  await until(() => gateway.output().includes(id));
  const line = gateway
    .output()
    .split("\n")
    .find((each) => each.includes(id));
  expect(line).toContain(`"replica":"${replica}"`);
  const refused = await fetch(`${gateway.url}/no-such-path`);
  expect(refused.headers.get("vexel-replica")).toBe(replica);
  gateway.kill("SIGTERM");
  await gateway.exited;
  expect(collector.spans.length).toBeGreaterThan(0);
  expect(collector.resource()).toMatchObject({ "service.instance.id": replica });
});

/** Webhooks run in the background: a hanging receiver blocks neither requests nor other receivers nor the shutdown. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Page, ShownEvent } from "../../contract/admin.ts";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";
import {
  adminToken,
  emitEvent,
  getAdmin,
  isGenuine,
  secret,
  startReceiver,
  startWithAdmin,
  webhookYaml,
} from "./webhooks-fixture.ts";

const open = closeAfterEach();

const never = () => new Promise<Response>(() => {});

test("a hanging receiver blocks neither requests nor other receivers nor the shutdown", async () => {
  const [fake, stuck, well] = [startFake(), startReceiver(never), startReceiver()];
  const yaml = configFor(fake.url).replace(/^keys:[\s\S]*/m, "");
  const gateway = startWithAdmin({ yaml: `${yaml}\n${webhookYaml(stuck, well)}` });
  open(fake, stuck, well);
  for (let i = 0; i < 100; i++) emitEvent(gateway, i);
  await until(() => stuck.received.length === 1 && well.received.length === 100);
  for (let i = 0; i < 20; i++) {
    emitEvent(gateway, i);
    const body = { model: "text-embedding-3-small", input: `text ${i}` };
    expect((await gateway.post("/v1/embeddings", body)).status).toBe(200);
  }
  expect(stuck.received).toHaveLength(1);
  await gateway.close();
  // Neither the requests nor the shutdown waited until the delivery timed out.
  expect(gateway.log()).not.toContain("no response within");
});

test("pending deliveries survive kill -9 and are sent by the next process", async () => {
  using folder = temporaryFolder();
  const down = startReceiver(() => new Response(null, { status: 503 }));
  open(down);
  const env = { VEXEL_ADMIN_TOKEN: adminToken, VEXEL_DATA: join(folder.path, "data") };
  const start = () => startProcess({ folder: folder.path, yaml: webhookYaml(down), env });
  const first = await start();
  // The first start creates a key, which emits an event.
  await until(() => down.of("key.created").length === 1);
  await until(async () => {
    const { data } = await getAdmin<Page<ShownEvent>>(first.url, "/admin/api/events");
    return data[0]?.deliveries[0]?.attempts === 1;
  });
  first.kill("SIGKILL");
  await first.exited;
  const { port } = new URL(down.url);
  down.close();
  const up = startReceiver(undefined, Number(port));
  open(up);
  const second = await start();
  await until(() => up.received.length === 1);
  expect(up.received[0]?.id).toBe(down.received[0]!.id);
  expect(isGenuine(up.received[0]!, secret)).toBeTrue();
  await until(async () => {
    const { data } = await getAdmin<Page<ShownEvent>>(second.url, "/admin/api/events");
    return data[0]?.deliveries[0]?.state === "delivered";
  });
  second.kill("SIGTERM");
  expect(await second.exited).toBe(0);
  expect(first.output() + second.output()).not.toContain(secret);
});

test("keys created and revoked on the command line emit events, also those changed while no gateway ran", async () => {
  using folder = temporaryFolder();
  const receiver = startReceiver();
  open(receiver);
  const env = { VEXEL_ADMIN_TOKEN: adminToken, VEXEL_DATA: join(folder.path, "data") };
  const start = () => startProcess({ folder: folder.path, yaml: webhookYaml(receiver), env });
  const run = async (...args: string[]) => {
    expect((await vexel(["keys", ...args], { cwd: folder.path, env })).code).toBe(0);
  };
  const reported = () => receiver.received.map(({ type, data }) => `${type} ${data.name}`);
  const first = await start();
  await run("create", "--name", "studio");
  await run("revoke", "default");
  await until(() => receiver.received.length === 3);
  expect(reported()).toEqual(["key.created default", "key.created studio", "key.revoked default"]);
  first.kill("SIGTERM");
  await first.exited;
  await run("create", "--name", "night", "--models", "a,b");
  await run("revoke", "studio");
  const second = await start();
  await until(() => receiver.received.length === 5);
  expect(reported().slice(3)).toEqual(["key.created night", "key.revoked studio"]);
  const { data } = receiver.of("key.created").at(-1)!;
  expect(data).toEqual({ id: expect.stringMatching(/^key_/), name: "night", models: ["a", "b"] });
  second.kill("SIGTERM");
  await second.exited;
});

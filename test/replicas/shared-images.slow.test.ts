/** Replicas that share an object store over TLS: each serves the images and the stored responses of the others. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "../certificate-fixture.ts";
import { errorResponse, startFakeS3 } from "../fake-s3.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { bearer, expectError } from "../http/gateway-fixture.ts";
import { testsWith } from "../programs.ts";
import { until } from "../until.ts";

testsWith(["openssl"], import.meta.file, () => {
  const folder = temporaryFolder();
  const fake = startFake();
  const certificate = selfSigned(folder.path, "IP:127.0.0.1");
  const s3 = startFakeS3({ tls: certificate });
  const replicas: GatewayProcess[] = [];
  const urlFile = join(folder.path, "blob-url");

  const startReplica = async (name: string): Promise<GatewayProcess> => {
    const own = join(folder.path, name);
    mkdirSync(own);
    return startProcess({
      folder: own,
      yaml: configFor(fake.url),
      env: {
        BLOB_URL_FILE: urlFile,
        VEXEL_SECRET: "the-secret-of-all-replicas",
        NODE_EXTRA_CA_CERTS: join(folder.path, "cert.pem"),
      },
    });
  };

  beforeAll(async () => {
    writeFileSync(urlFile, `${s3.url("vexel")}\n`);
    replicas.push(await startReplica("a"), await startReplica("b"));
  });

  afterAll(async () => {
    for (const replica of replicas) await replica.close();
    s3.stop();
    await fake.close();
    folder[Symbol.dispose]();
  });

  const replica = (at: number): GatewayProcess => replicas[at] as GatewayProcess;
  const request = { model: "gpt-image-2", prompt: "an otter", response_format: "url" };

  async function generateLink(at: number): Promise<URL> {
    const response = await replica(at).post("/v1/images/generations", request, bearer);
    const { data } = (await response.json()) as { data: { url: string }[] };
    return new URL(data[0]?.url ?? "");
  }

  /** The same path and signature on another replica. */
  const onReplica = (at: number, link: URL): string =>
    replica(at).url + link.pathname + link.search;

  test("an image link of one replica works on another one", async () => {
    const link = await generateLink(0);
    const [own, other] = [await fetch(link), await fetch(onReplica(1, link))];
    expect([own.status, other.status]).toEqual([200, 200]);
    expect(other.headers.get("content-type")).toBe("image/png");
    const bytes = await own.bytes();
    expect(await other.bytes()).toEqual(bytes);
    expect([...s3.objects.values()].some((object) => Buffer.from(bytes).equals(object.bytes))).toBe(
      true,
    );
    const part = await fetch(onReplica(1, link), { headers: { range: "bytes=1-3" } });
    expect([part.status, await part.text()]).toEqual([206, "PNG"]);
    link.searchParams.set("expires", "4000000000");
    expect((await fetch(onReplica(1, link))).status).toBe(404);
  });

  test("an image request is replayed by another replica from the object store, and generated once", async () => {
    const headers = { ...bearer, "idempotency-key": "the same on both" };
    const before = fake.requests.length;
    const first = await replica(0).post("/v1/images/generations", request, headers);
    const body = await first.text();
    const replayed = await replica(1).post("/v1/images/generations", request, headers);
    expect([first.status, replayed.status]).toEqual([200, 200]);
    expect(await replayed.text()).toBe(body);
    expect(fake.requests.length - before).toBe(1);
  });

  test("without the object store, new images are base64 and links get 503, until it is back", async () => {
    const link = await generateLink(0);
    await s3.stop();
    const response = await replica(0).post("/v1/images/generations", request, bearer);
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-dropped")).toBe("response_format");
    expect(await response.json()).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
    const unavailable = await fetch(onReplica(1, link));
    expect([unavailable.status, unavailable.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await unavailable.json()).toMatchObject({ error: { code: "storage_unavailable" } });
    s3.start();
    await until(async () => (await fetch(onReplica(1, link))).status === 200);
    await until(() => replica(1).output().includes("object-store-recovered"));
  });

  test("while the object store sends no bodies, links and replays get 503, except replays of the data folder", async () => {
    const headers = { ...bearer, "idempotency-key": "bodies cannot be read" };
    const generate = (at: number) => replica(at).post("/v1/images/generations", request, headers);
    const first = await generate(0);
    const body = await first.text();
    const link = new URL(JSON.parse(body).data[0].url);
    const result = `/v1/images/results/${first.headers.get("x-request-id")}`;
    const before = fake.requests.length;
    s3.intercept(({ method, url }) =>
      method === "GET" && !/\.json$|list-type/.test(url)
        ? errorResponse(503, "SlowDown", "reduce your request rate")
        : undefined,
    );
    const refused = [
      await fetch(onReplica(1, link)),
      await fetch(onReplica(1, link), { headers: { range: "bytes=1-3" } }),
      await generate(1),
      await fetch(replica(1).url + result, { headers: bearer }),
    ];
    for (const response of refused) await expectError(response, "storage_unavailable");
    expect((await fetch(onReplica(1, link), { method: "HEAD" })).status).toBe(200);
    const own = await generate(0);
    expect([own.status, await own.text()]).toEqual([200, body]);
    s3.intercept(undefined);
    expect((await fetch(onReplica(1, link))).status).toBe(200);
    expect(await (await generate(1)).text()).toBe(body);
    expect(fake.requests.length - before).toBe(0);
  });

  test("an object store that is unreachable at the start is logged, without its credentials", async () => {
    const own = join(folder.path, "unreachable");
    mkdirSync(own);
    // Port 9 (discard) has no server.
    const blobUrl = "s3://the-id:the-secret@bucket?endpoint=http://127.0.0.1:9";
    const gateway = await startProcess({
      folder: own,
      yaml: configFor(fake.url),
      env: { BLOB_URL: blobUrl, VEXEL_SECRET: "the-secret-of-all-replicas" },
    });
    replicas.push(gateway);
    await until(() => gateway.output().includes("object-store-unavailable"));
    expect(gateway.output()).not.toContain("the-id");
  });
});

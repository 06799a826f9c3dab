/** The settings page: secrets are masked, also inside addresses. */
import { expect, test } from "bun:test";
import type { Page, Setting } from "../../contract/admin.ts";
import { adminToken, getAdmin } from "../events/webhooks-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";

test("the settings page shows neither the password nor the token of a collector's address", async () => {
  const fake = startFake();
  const gateway = startGateway({
    yaml: configFor(fake.url),
    settings: {
      VEXEL_ADMIN_TOKEN: adminToken,
      OTEL_EXPORTER_OTLP_ENDPOINT:
        "https://tenant:pass%2Fword@collector.example:4318/v1?key=abc123",
      VEXEL_PUBLIC_URL: "https://vexel.example/a@b",
    },
  });
  const { data } = await getAdmin<Page<Setting>>(gateway.url, "/admin/api/settings");
  await gateway.close();
  fake.close();
  const shownAs = (named: string) => data.find(({ name }) => name === named)?.value;
  expect(shownAs("OTEL_EXPORTER_OTLP_ENDPOINT")).toBe(
    "https://********@collector.example:4318/v1?********",
  );
  expect(shownAs("VEXEL_PUBLIC_URL")).toBe("https://vexel.example/a@b");
});

/** API keys that are created, rotated and used at a gateway. */
import { expect } from "bun:test";
import type { CreatedApiKey } from "../../contract/admin.ts";
import type { GatewayProcess } from "../harness.ts";

export const adminToken = "admin-token-0123456789";

/** An image of dall-e-3 costs four cents. */
export const budgetFor = (images: number) => ({ total: images * 0.04 });

async function send(gateway: GatewayProcess, path: string, body: object): Promise<CreatedApiKey> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await gateway.post(`/admin/api${path}`, body, headers);
  expect(response.status).toBe(201);
  return (await response.json()) as CreatedApiKey;
}

export const create = (gateway: GatewayProcess, settings: object) =>
  send(gateway, "/keys", { name: "app", models: ["*"], ...settings });

export const rotate = (gateway: GatewayProcess, { id }: CreatedApiKey, overlapHours: number) =>
  send(gateway, `/keys/${id}/rotate`, { overlapHours });

export async function generate(gateway: GatewayProcess, { key }: CreatedApiKey): Promise<number> {
  const body = { model: "dall-e-3", prompt: "an otter" };
  const headers = { authorization: `Bearer ${key}` };
  const response = await gateway.post("/v1/images/generations", body, headers);
  await response.text();
  return response.status;
}

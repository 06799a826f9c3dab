/** Fake of Zhipu's BigModel: OpenAI's path, links in responses, and error codes that are numeric strings. */
import { type FakeVendor, jsonOf, type VendorResponse } from "../image-vendor.ts";

const key = "1234567890abcdef.fakeFAKEfake";

const refusal = (
  status: number,
  code: string,
  message: string,
  more: object = {},
): VendorResponse => ({
  status,
  body: { ...more, error: { code, message } },
});

/** https://docs.bigmodel.cn/api-reference/模型-api/图像生成 */
const fields = [
  "model",
  "prompt",
  "quality",
  "size",
  "watermark_enabled",
  "user_id",
  // A parameter of the vendor's other models; these ignore it.
  "seed",
];

interface Rules {
  readonly multipleOf: number;
  readonly maxPixels: number;
  readonly qualities: readonly string[];
  readonly size: string;
}

const open =
  (model: string, rules: Rules): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) {
      throw refusal(401, "1002", "Authorization Token非法，请确认Authorization Token正确传递。");
    }
    if (method !== "POST" || path !== "/api/paas/v4/images/generations") {
      throw refusal(404, "1222", `API ${path} 不存在。`);
    }
    const body = jsonOf(request, fields);
    if (body.model !== model) throw refusal(400, "1211", "模型不存在，请检查模型代码。");
    if (typeof body.prompt !== "string") throw refusal(400, "1213", "未正常接收到prompt参数。");
    const { quality, size = rules.size, user_id } = body as Record<string, string | undefined>;
    if (quality !== undefined && !rules.qualities.includes(quality)) {
      throw refusal(400, "1214", "quality参数非法，请检查文档。");
    }
    if (user_id !== undefined && (user_id.length < 6 || user_id.length > 128)) {
      throw refusal(400, "1214", "user_id参数非法，请检查文档。");
    }
    const edges = (/^(\d+)x(\d+)$/.exec(size) ?? []).slice(1).map(Number);
    const fits =
      edges.length === 2 &&
      edges.every((edge) => edge >= 512 && edge <= 2048 && edge % rules.multipleOf === 0) &&
      edges.reduce((a, b) => a * b) <= rules.maxPixels;
    if (!fits) throw refusal(400, "1214", "size参数非法，请检查文档。");
    const generated = await generator.generate({
      prompt: body.prompt,
      n: 1,
      size,
      ...(quality !== undefined && { options: { quality } }),
    });
    return {
      body: {
        created: 1_760_335_349,
        data: generated.map((image) => ({ url: generator.link(image, origin) })),
        content_filter: [{ role: "assistant", level: 1 }],
      },
    };
  };

/** https://docs.z.ai/api-reference/api-code, and as reported by users. */
const refusals: FakeVendor["refusals"] = [
  {
    kind: "upstream_credentials",
    ...refusal(401, "1000", "身份验证失败。"),
  },
  { kind: "model_not_found", ...refusal(400, "1211", "模型不存在，请检查模型代码。") },
  {
    kind: "moderation_blocked",
    ...refusal(
      400,
      "1301",
      "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。",
      { contentFilter: [{ level: 1, role: "user" }] },
    ),
  },
  { kind: "upstream_rejected", ...refusal(400, "1214", "size参数非法，请检查文档。") },
  { kind: "insufficient_quota", ...refusal(429, "1113", "余额不足或无可用资源包,请充值。") },
  {
    kind: "upstream_rate_limit",
    ...refusal(429, "1302", "您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。"),
    headers: { "retry-after": "3" },
  },
  { kind: "upstream_error", ...refusal(500, "500", "内部错误") },
];

const vendor = (name: string, model: string, rules: Rules): FakeVendor => ({
  name,
  kind: "zhipu",
  model,
  config: { apiKey: key },
  basePath: "/api/paas/v4",
  operations: ["generations"],
  source: "https://docs.bigmodel.cn/api-reference/模型-api/图像生成",
  open: open(model, rules),
  refusals,
});

export const zhipu: readonly FakeVendor[] = [
  vendor("zhipu-cogview", "cogview-4-250304", {
    multipleOf: 16,
    maxPixels: 2 ** 21,
    qualities: ["standard", "hd"],
    size: "1024x1024",
  }),
  vendor("zhipu-glm-image", "glm-image", {
    multipleOf: 32,
    maxPixels: 2 ** 22,
    qualities: ["hd"],
    size: "1280x1280",
  }),
];

/** The steps of a request, in Simplified Chinese. */
import type { stepMessages } from "../../../../contract/messages/step-messages.ts";

export const zhStepMessages: Readonly<Record<keyof typeof stepMessages, string>> = {
  step_moderation_passed: "提示词通过审核。",
  step_moderation_flagged: "提示词未通过审核。",
  step_moderation_failed: "审核失败（{error}）。",
  step_unsupported: "跳过 {target}：不支持此请求（{error}）。",
  step_at_limits: "跳过 {target}：已达到限流上限。",
  step_rate_limited: "跳过 {target}：触发上游限流。",
  step_failing: "跳过 {target}：连续失败 {count} 次，最近一次为 {error}。",
  step_cooling: "跳过 {target}：处于冷却中（{error}）。",
  step_busy: "{target} 繁忙。",
  step_hedged: "首个目标响应过慢，已向 {target} 发送对冲请求。",
  step_generated: "{target} 已生成图像。",
  step_streaming: "{target} 已流式返回图像。",
  step_one_image: "{target} 每次请求只生成一张图像。",
  step_images_failed: "{target} 的 {requested} 张图像中有 {count} 张失败（{error}）。",
  step_images_billed: "{target} 的 {requested} 张图像中有 {count} 张失败（{error}），可能已计费。",
  step_failed_billed: "{target} 失败（{error}），图像可能已计费。",
  step_failed: "{target} 失败（{error}）。",
  step_adapted: "网关适配了参数 {parameter}。",
  step_not_converted: "有图像未能转换格式（{error}），已按原样返回。",
  step_replayed: "重放了请求 {request} 的响应。",
  step_failed_with: "相同的请求 {request} 失败。",
  step_stored: "响应已保存，供重试使用。",
  step_implausible:
    "上游返回的{quantity, select, cost {费用} tokens { Token 数} other {输入 Token 数}}不合理。",
  step_vendor_batch: "请求在供应商批处理中执行。",
  step_killed: "请求完成前，网关进程被终止。",
};

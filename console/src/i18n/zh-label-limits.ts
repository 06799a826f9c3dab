/** Chinese messages of the limits of end users and tags. */
import type { enLabelLimits } from "./en-label-limits.ts";

export const zhLabelLimits = {
  "budgets.scope.end_user": "最终用户",
  "budgets.scope.tag": "标签",
  "labelLimits.title": "最终用户与标签",
  "labelLimits.hint": "每个最终用户以及每个与模式匹配的标签的限额和预算。",
  "labelLimits.endUser": "每个最终用户",
  "labelLimits.tag": "标签",
  "labelLimits.pattern": "标签或模式",
  "labelLimits.patternExample": "customer:*",
  "labelLimits.patternHint": "* 匹配任意字符。每个匹配的标签都有自己的限额。",
  "labelLimits.addEndUser": "限制每个最终用户",
  "labelLimits.addTag": "限制标签",
} as const satisfies Record<keyof typeof enLabelLimits, string>;

/** Chinese messages of the limits of end users and tags. */
import type { enEndUserAndTagLimits } from "./en-end-user-and-tag-limits.ts";

export const zhEndUserAndTagLimits = {
  "budgets.scope.end_user": "终端用户",
  "budgets.scope.tag": "标签",
  "endUserAndTagLimits.title": "终端用户与标签",
  "endUserAndTagLimits.hint": "为每个终端用户以及每个匹配的标签设置限流和预算。",
  "endUserAndTagLimits.endUser": "每个终端用户",
  "endUserAndTagLimits.tag": "标签",
  "endUserAndTagLimits.pattern": "标签或通配模式",
  "endUserAndTagLimits.patternExample": "customer:*",
  "endUserAndTagLimits.patternHint": "* 匹配任意字符，每个匹配的标签单独限流。",
  "endUserAndTagLimits.addEndUser": "添加终端用户限流",
  "endUserAndTagLimits.addTag": "添加标签限流",
  "project.budget": "预算与限制",
  "project.models": "用量最高的模型",
  "project.outcomes": "结果",
  "project.manageKeys": "管理密钥",
  "project.events": "最近的事件",
  "project.events.none": "没有事件",
  "project.threshold": "{name} 已达到 {limit}（{period}）的 {percent}%",
  "projects.budget": "预算使用",
} as const satisfies Record<keyof typeof enEndUserAndTagLimits, string>;

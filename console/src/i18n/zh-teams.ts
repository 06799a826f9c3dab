/** Chinese messages of projects as teams. */
import type { enTeams } from "./en-teams.ts";

export const zhTeams = {
  "statements.title": "对账单",
  "statements.none": "还没有对账单",
  "statements.hint": "每个已结束的月份从下月第二天（UTC）起提供对账单。",
  "statements.month": "月份（UTC）",
  "statements.charged": "计费金额",
  "statements.unpriced": "无费用的请求",
  "statements.download": "导出 CSV：{month}",

  "projects.contact": "联系人",
  "projects.contactHint": "接收该项目预算告警的邮箱地址。需要设置 VEXEL_SMTP_URL。",
  "projects.archived": "已归档",
  "projects.showArchived": "已归档的项目",
  "projects.archived.none": "没有已归档的项目",
  "projects.archive": "归档",
  "projects.archive.title": "归档项目 {name}？",
  "projects.archive.description": "恢复之前，使用其 API 密钥的请求将被拒绝。其用量和对账单会保留。",
  "projects.restore": "恢复",

  "keys.review": "需检查的密钥",
  "keys.review.all": "全部密钥",
  "keys.review.unused": "90 天未使用",
  "keys.review.expiring": "即将过期",

  "users.link.sent": "链接已发送至 {address}。它仅可使用一次，{time} 过期，且不会再次显示。",
  "users.link.notSent": "邮件发送失败：{problem}。",
  "users.nameHint": "如填写邮箱地址且已设置 VEXEL_SMTP_URL，链接也会发送到该邮箱。",
  "users.keys": "该用户创建的有效 API 密钥",
  "users.keys.stay": "这些密钥仍可使用。请吊销，或转给其他用户。",
  "users.keys.moveTo": "全部转给",
  "users.keys.move": "转移密钥",
  "users.keys.revokeAll": "全部吊销",
  "users.keys.more": "至少 {count, number} 个密钥，仅列出前面部分。",
} as const satisfies Readonly<Record<keyof typeof enTeams, string>>;

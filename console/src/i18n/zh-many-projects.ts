/** Chinese messages of changes of many projects at once. */
import type { enManyProjects } from "./en-many-projects.ts";

export const zhManyProjects = {
  "many.choose": "选择 {name}",
  "many.chooseAll": "选择全部 {count, number} 个",
  "many.clear": "清除选择",
  "many.set": "设置预算和限制（{count, number}）",
  "many.title": "{count, number} 个项目的预算和限制",
  "many.description": "留空的字段不会更改。",
  "many.empty": "请至少填写一个字段。",
  "many.apply": "设置",
  "many.outcomes": "每个项目的结果",
  "many.running": "{done, number} / {count, number}",
  "many.done": "{changed, number} 个已更改，{unchanged, number} 个未变，{refused, number} 个被拒绝",
  "many.changed": "已更改",
  "many.unchanged": "未变",
  "many.refused": "已拒绝",
  "many.close": "关闭",
} as const satisfies Readonly<Record<keyof typeof enManyProjects, string>>;

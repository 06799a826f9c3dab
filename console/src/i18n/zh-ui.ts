/** Simplified Chinese messages of the shared controls. */
export const zhUi = {
  "combobox.choose": "请选择…",
  "combobox.search": "搜索",
  "combobox.searchOrType": "搜索或输入",
  "combobox.options": "选项",
  "combobox.use": "使用“{text}”",
  "combobox.more": "还有 {count, number} 项，请输入关键字缩小范围",
  "combobox.none": "没有匹配项",
  "combobox.clear": "清除",
  "toast.label": "通知",
  "toast.region": "通知",
  "table.pages": "分页",
  "table.range": "第 {from, number} 至 {to, number} 项，共 {rows, number} 项",
  "table.previous": "上一页",
  "table.next": "下一页",
  "table.search": "搜索",
  "table.noMatch": "没有匹配的内容。",
} as const;

/** English messages of the shared controls. `zh-ui.ts` has the same keys. */
export const enUi = {
  "combobox.choose": "Choose…",
  "combobox.search": "Search",
  "combobox.searchOrType": "Search or type",
  "combobox.options": "Options",
  "combobox.use": "Use “{text}”",
  "combobox.more": "and {count, number} more – type to narrow the list",
  "combobox.none": "Nothing found",
  "combobox.clear": "Clear",
  "toast.label": "Notification",
  "toast.region": "Notifications",
  "table.pages": "Pages",
  "table.range": "{from, number} to {to, number} of {rows, number}",
  "table.previous": "Previous page",
  "table.next": "Next page",
  "table.search": "Search",
  "table.noMatch": "Nothing matches your search.",
} as const;

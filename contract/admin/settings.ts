/** Settings in force. */
export interface Setting {
  readonly object: "setting";
  readonly name: string;
  readonly value: string;
  readonly is_default: boolean;
  readonly description: string;
}

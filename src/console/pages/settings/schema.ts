/** What the form knows of JSON Schema; anything else of it is checked by the service. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  default?: unknown;
  "x-tenant-writable"?: boolean;
}

export interface ControlProps {
  name: string;
  /** What the API calls it. */
  field: string;
  schema: Schema;
  value: unknown;
  disabled: boolean;
  required: boolean;
  onChange: (value: unknown) => void;
}

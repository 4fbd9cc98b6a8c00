/** One measured row; what a group does not measure it leaves out. */
export interface Figure {
  group: string;
  case: string;
  variant: string;
  [measure: string]: string | number | null;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

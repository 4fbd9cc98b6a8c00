import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";

/** For the test that asks, or for its whole file: removed afterwards. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `tms-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

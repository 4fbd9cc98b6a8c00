/** The reference page's section on the checks, made from what each check says of itself. */

export interface About {
  check: string;
  category: string;
  severity: string;
  comment: string;
}

const TITLES: Record<string, string> = {
  cross_tenant_access: "Across the wall (`cross_tenant_access`)",
  orphaned_record: "Rows that belong to nothing (`orphaned_record`)",
  board_membership: "Boards (`board_membership`)",
  data_consistency: "Rows that contradict others (`data_consistency`)",
  isolation_config: "The wall itself (`isolation_config`)",
};

const LINE = /^(?:(error|warning|info)|(Why|Fix|Category)): /;

/** A comment's parts by their names; its first one is called `finds`. */
export function partsOf(comment: string): Map<string, string> {
  const parts = new Map<string, string>();
  let name = "finds";
  for (const line of comment.split("\n")) {
    const [begin, severity, part] = LINE.exec(line) ?? [];
    if (part) name = part;
    if (severity && parts.size === 0) parts.set("severity", severity);
    const words = part || (severity && !parts.has("finds")) ? line.slice(begin!.length) : line;
    parts.set(name, parts.has(name) ? `${parts.get(name)} ${words}` : words);
  }
  return parts;
}

export function docsSection(checks: readonly About[]): string {
  return Object.entries(TITLES)
    .map(([category, title]) => {
      const entries = checks
        .filter(check => check.category === category)
        .toSorted((a, b) => (a.check < b.check ? -1 : 1))
        .map(({ check, severity, comment }) => {
          const parts = partsOf(comment);
          const lines = [
            `**${check}** (${severity})`,
            parts.get("finds"),
            parts.has("Why") && `*Why:* ${parts.get("Why")}`,
          ];
          return `${[...lines, parts.has("Fix") && `*Fix:* ${parts.get("Fix")}`].filter(Boolean).join("  \n")}\n`;
        });
      return `### ${title}\n\n${entries.join("\n")}`;
    })
    .join("\n");
}

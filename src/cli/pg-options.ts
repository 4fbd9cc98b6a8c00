/** PGOPTIONS, which libpq and node-postgres read: the shell's own, then these settings of the session. */
export const pgOptions = (settings: Record<string, string>): string =>
  [process.env.PGOPTIONS, ...Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)]
    .filter(Boolean)
    .join(" ");

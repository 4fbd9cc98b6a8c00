/** Why something could not start, in one sentence for the person at the terminal. */
export class StartupError extends Error {}

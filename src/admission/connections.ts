import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface Connection<Entry> {
  readonly socket: Socket;
  /** Its requests without a whole answer, refused ones too. */
  readonly unanswered: Entry[];
  /** It has carried a valid token. */
  known: boolean;
  /** Its place in the list. */
  at: number;
}

/** The connections of a server, and their unanswered requests. */
export class Connections<Entry> {
  readonly all: Connection<Entry>[] = [];
  accepted = 0;
  readonly #bySocket = new WeakMap<Socket, Connection<Entry>>();

  /** `left` hears of every request whose connection closes before its answer. */
  constructor(server: Server, left: (entry: Entry) => void, most = mostConnections()) {
    server.on("connection", (socket: Socket) => {
      this.accepted++;
      const connection: Connection<Entry> = { socket, unanswered: [], known: false, at: this.all.length };
      this.#bySocket.set(socket, connection);
      this.all.push(connection);
      if (this.all.length > most) this.#endIdle();
      // Pipelined responses: Node reports the end only on the socket.
      socket.once("close", () => {
        for (const entry of connection.unanswered.splice(0)) left(entry);
        const last = this.all.pop()!;
        if (last === connection) return;
        last.at = connection.at;
        this.all[last.at] = last;
      });
    });
    // An idle connection (`connectionTimeout`). We keep it while we work on its request, but not when its client does not read.
    server.on("timeout", (socket: Socket) => {
      if (!this.of(socket)?.unanswered.length || socket.writableLength > 0) socket.destroy();
    });
  }

  of(socket: Socket): Connection<Entry> | undefined {
    return this.#bySocket.get(socket);
  }

  /** Ends a connection that has carried no valid token and waits for no answer: any, so that nobody can choose whose. */
  #endIdle(): void {
    for (let tries = 0; tries < 20; tries++) {
      const { socket, known, unanswered } = this.all[Math.floor(Math.random() * (this.all.length - 1))]!;
      if (known || unanswered.length > 0 || socket.destroyed) continue;
      socket.destroy();
      return;
    }
  }
}

/** Four fifths of the files that the system lets this process open: at its limit it could accept nobody. */
function mostConnections(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const limit = Number(userLimits?.open_files?.soft);
  return limit > 0 ? Math.floor(limit * 0.8) : Number.POSITIVE_INFINITY;
}

/** One attack of attacks.ts, until it is killed. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Attack } from "./attacks.ts";

const { sockets: count, says, drips, reads, floods } = JSON.parse(process.argv[2]!) as Attack;
const { hostname, port } = new URL(process.argv[3]!);
const sockets = new Set<Socket>();
const open = () => {
  const socket = connect(Number(port), hostname);
  sockets.add(socket);
  socket.on("error", () => {});
  socket.once("connect", () => socket.write(says));
  if (!reads) socket.pause();
  else if (floods) {
    let answers = 0;
    socket.on("data", bytes => {
      answers += bytes.toString("latin1").split("HTTP/1.1 ").length - 1;
      if (answers < floods) return;
      answers -= floods;
      socket.write(says);
    });
  } else socket.resume();
  socket.once("close", () => {
    sockets.delete(socket);
    setTimeout(open, 100);
  });
};
for (let made = 0; made < count; made++) {
  open();
  if (made % 100 === 99) await sleep(20);
}
setInterval(() => {
  if (drips) for (const socket of sockets) socket.write(drips);
}, 1_000);
// What counts is how it goes on: the first connections of a new kind warm the compiler.
await sleep(2_000);
process.send!("begun");
